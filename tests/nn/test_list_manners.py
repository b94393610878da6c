"""A stack has the manners of a list, and says what to write for what it does not have."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq

KINDS = [ArrayStacked, BlockSeq]


class Layer(eqx.Module):
    w: jax.Array
    p: float = 0.5

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x * self.w + self.p


def layers(count: int = 3, start: float = 1.0) -> list[Layer]:
    return [Layer(jnp.full(2, start + i)) for i in range(count)]


def same(one: Any, other: Any) -> bool:
    return jax.tree.structure(one) == jax.tree.structure(other) and bool(eqx.tree_equal(one, other))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_list_has(kind: Any) -> None:
    stack, plain = kind.of(layers()), layers()
    assert isinstance(stack, Sequence)
    assert same(stack + [Layer(jnp.zeros(2))], [*plain, Layer(jnp.zeros(2))])  # noqa: RUF005
    assert same([Layer(jnp.zeros(2))] + stack, [Layer(jnp.zeros(2)), *plain])  # noqa: RUF005
    assert same(stack + stack, plain + plain)
    assert same(stack * 2, plain * 2)
    assert same(2 * stack, plain * 2)
    assert [stack.index(layer) for layer in plain] == [0, 1, 2]
    assert plain[1] in stack
    assert Layer(jnp.zeros(2)) not in stack
    assert (stack.count(plain[2]), stack.count(Layer(jnp.zeros(2)))) == (1, 0)
    with pytest.raises(ValueError, match="none of the 3 layers is equal to the given Layer"):
        stack.index(Layer(jnp.zeros(2)))
    with pytest.raises(TypeError):
        stack + 1


@pytest.mark.parametrize("index", [0, -1, np.int64(1)])
@pytest.mark.parametrize("kind", KINDS)
def test_one_layer_is_replaced(kind: Any, index: Any) -> None:
    new, plain = Layer(jnp.full(2, 7.0)), layers()
    plain[index] = new
    got = kind.of(layers()).with_layer(index, new)
    assert type(got) is kind
    assert same(list(got), plain)
    model = {"layers": kind.of(layers())}
    model = eqx.tree_at(lambda m: m["layers"], model, model["layers"].with_layer(index, new))
    assert same(list(model["layers"]), plain)
    with pytest.raises(IndexError, match="3 layers"):
        got.with_layer(3, new)


def test_a_layer_of_another_kind() -> None:
    with pytest.raises(ValueError, match=r"layers 0 and 1 differ(.|\n)*BlockSeq"):
        ArrayStacked.of(layers()).with_layer(1, eqx.nn.Identity())
    got = BlockSeq.of(layers()).with_layer(1, eqx.nn.Identity())
    assert isinstance(got[1], eqx.nn.Identity)


WORDS = ["append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "copy"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_would_change_it_in_place_says_what_to_write(kind: Any) -> None:
    stack = kind.of(layers())
    for word in WORDS:
        with pytest.raises(AttributeError, match=rf"{kind.__name__} has no `{word}`.*Write "):
            getattr(stack, word)
    with pytest.raises(TypeError, match="with_layer"):
        stack[0] = layers()[1]
    with pytest.raises(TypeError, match="take"):
        del stack[0]
    with pytest.raises(AttributeError, match=r"has no attribute 'w'.*\[layer.w for layer in layers\]"):
        stack.w  # noqa: B018
    assert not hasattr(stack, "append")


@pytest.mark.parametrize("kind", KINDS)
def test_shared_around_a_stack_and_within_its_layers(kind: Any) -> None:
    embedding = jnp.arange(2.0)
    around = eqx.nn.Shared((embedding, kind.of(layers()), jnp.arange(2.0)), lambda t: t[2], lambda t: t[0])
    first, stack, last = around()
    assert first is last
    np.testing.assert_allclose(stack(jnp.ones(2)), kind.of(layers())(jnp.ones(2)))

    def where(pair: Any) -> Any:
        return pair[1].w

    def get(pair: Any) -> Any:
        return pair[0].w

    class Tied(eqx.Module):
        shared: eqx.nn.Shared

        def __call__(self, x: Any, *, key: Any = None) -> Any:
            one, other = self.shared()
            return other(one(x))

    def tied() -> list[Tied]:
        return [Tied(eqx.nn.Shared((layer, Layer(layer.w)), where, get)) for layer in layers()]

    x = jnp.ones(2)
    for layer in tied():
        x = layer(x)
    np.testing.assert_allclose(kind.of(tied())(jnp.ones(2)), x, rtol=1e-6)
