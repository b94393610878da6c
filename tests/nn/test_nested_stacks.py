"""Stacks whose layers hold stacks, of both kinds and to three levels, are the nested loops."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, from_state_dict, to_state_dict

X = jnp.linspace(-0.5, 1, 3)  # not as much below zero as above: then the gradients of `p` would be rounding alone
KINDS: dict[str, Callable[[Sequence[Any]], Any]] = {"A": ArrayStacked.of, "B": BlockSeq.of, "L": eqx.nn.Sequential}


class Leaf(eqx.Module):
    w: jax.Array
    p: float

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x + jnp.tanh(self.w * x) * self.p


class Holder(eqx.Module):
    """A layer with a stack in a field, and one in a dict."""

    inner: Any
    others: dict[str, Any]

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return self.others["a"](self.inner(x))


def leaves(count: int, start: float) -> list[Leaf]:
    return [Leaf(jnp.full(3, start + 0.1 * i), 0.5) for i in range(count)]


def nested(kinds: str) -> tuple[Any, list[Any]]:
    """A stack of the first kind of two stacks of the second, and so on; and the same layers in lists."""

    def build(kinds: str, start: float) -> tuple[Any, list[Any]]:
        if not kinds:
            (leaf,) = leaves(1, start)
            return leaf, leaf  # type: ignore[return-value]
        parts = [build(kinds[1:], start + at * 0.3 ** -len(kinds) / 100) for at in range(2)]
        return KINDS[kinds[0]]([part[0] for part in parts]), [part[1] for part in parts]

    return build(kinds, 0.2)


def run(layers: Any, x: Any) -> Any:
    if isinstance(layers, list):
        for layer in layers:
            x = run(layer, x)
        return x
    return layers(x)


def flat(layers: Any) -> list[Any]:
    if isinstance(layers, Leaf):
        return [layers]
    return [leaf for layer in layers for leaf in flat(layer)]


@pytest.mark.parametrize("kinds", ["AA", "AB", "BA", "BB", "BLB", "LBA", "ABA", "BAB", "BBB", "AAA"])
def test_nested_stacks_are_the_nested_loops(kinds: str) -> None:
    stack, lists = nested(kinds)
    np.testing.assert_allclose(stack(X), run(lists, X), rtol=1e-6)
    got = jax.grad(lambda stack: stack(X).sum())(stack)
    wanted = jax.grad(lambda lists: run(lists, X).sum())(lists)
    for mine, theirs in zip(flat(got), flat(wanted), strict=True):
        np.testing.assert_allclose(mine.w, theirs.w, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(mine.p, theirs.p, rtol=1e-5, atol=1e-7)
    for mine, theirs in zip(flat(stack), flat(lists), strict=True):
        assert eqx.tree_equal(mine, theirs, typematch=True)


@pytest.mark.parametrize("kind", ["A", "B"])
@pytest.mark.parametrize("inner", ["A", "B"])
def test_a_stack_in_a_field_and_in_a_dict(kind: str, inner: str) -> None:
    def holder(at: int, of: Callable[[Any], Any]) -> Holder:
        return Holder(of(leaves(2, 0.1 * at)), {"a": of(leaves(3, 0.7 * at))})

    stack = KINDS[kind]([holder(at, KINDS[inner]) for at in range(3)])
    wanted = X
    for at in range(3):
        wanted = holder(at, eqx.nn.Sequential)(wanted)
    np.testing.assert_allclose(stack(X), wanted, rtol=1e-6)
    halves = jax.tree.map(lambda leaf: leaf / 2, eqx.filter(stack, eqx.is_array))
    assert eqx.tree_equal(halves[1].inner[0].w, stack[1].inner[0].w / 2)
    back = from_state_dict(stack, to_state_dict(stack, "m"), "m")
    assert eqx.tree_equal(back, stack)


def test_empty_sequences_in_sequences() -> None:
    empty: Any = BlockSeq.of([])
    np.testing.assert_array_equal(BlockSeq.of([empty])(X), X)
    stack = BlockSeq.of([BlockSeq.of(leaves(2, 0.1)), empty, BlockSeq.of([BlockSeq.of(leaves(1, 0.3)), empty])])
    wanted = run([*leaves(2, 0.1), *leaves(1, 0.3)], X)
    np.testing.assert_allclose(stack(X), wanted, rtol=1e-6)
    assert [len(one) for one in stack] == [2, 0, 2]


def test_a_sequence_whose_arrays_were_taken_out_can_be_a_layer() -> None:
    """Its own holes are left, and are not those of the sequence around it."""
    shapes = eqx.partition(BlockSeq.of(leaves(2, 0.1)), eqx.is_array)[1]
    outer = BlockSeq.of([shapes, BlockSeq.of(leaves(2, 0.4))])
    assert eqx.tree_equal(outer[0], shapes)
    assert eqx.tree_equal(outer[1][1], leaves(2, 0.4)[1])
