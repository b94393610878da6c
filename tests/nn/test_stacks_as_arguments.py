"""A stack of any kind, anywhere in the arguments with an axis, is the sequence of its layers; the loop is the oracle."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scanify.nn as snn
from scanify.nn import ArrayStacked, BlockSeq

N = 3
X = jnp.ones(3)
KINDS = [ArrayStacked, BlockSeq]


class Scale(eqx.Module):
    s: Any
    p: float = 1.5

    def __call__(self, x: Any) -> Any:
        return x * self.s * self.p


class Pair(NamedTuple):
    norm: Any
    shift: Any


BLOCKS = [Scale(jnp.full(3, 1.0 + i)) for i in range(N)]
NORMS = [Scale(jnp.full(3, i + 2.0)) for i in range(N)]
SHIFTS = jnp.arange(N * 3.0).reshape(N, 3)

# What is given, and what layer `i` of the loop is given, of the norms in a container.
FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, int], Any], Callable[[Any, Any], Any]]] = {
    "itself": (lambda n: n, lambda n, i: n[i], lambda n, x: n(x)),
    "in a dict": (lambda n: {"n": n}, lambda n, i: {"n": n[i]}, lambda a, x: a["n"](x)),
    "in a named tuple beside an array": (
        lambda n: Pair(n, SHIFTS),
        lambda n, i: Pair(n[i], SHIFTS[i]),
        lambda a, x: a.norm(x) + a.shift,
    ),
    "in a dict of dicts beside None": (
        lambda n: {"a": {"n": n}, "b": None},
        lambda n, i: {"a": {"n": n[i]}, "b": None},
        lambda a, x: a["a"]["n"](x) if a["b"] is None else x,
    ),
    "taken in another order": (lambda n: n.take([2, 0, 1]), lambda n, i: n[[2, 0, 1][i]], lambda n, x: n(x)),
    "taken with one layer twice": (lambda n: n.take([1, 0, 1]), lambda n, i: n[[1, 0, 1][i]], lambda n, x: n(x)),
    "each a stack itself": (
        lambda n: [n, jax.tree.map(lambda leaf: leaf * 2, n), n],
        lambda n, i: [n, [Scale(one.s * 2, one.p * 2) for one in n], n][i],
        lambda n, x: n[0](x),
    ),
}


def loop(form: str, layers: list[Any]) -> Any:
    _, part, apply = FORMS[form]
    x, ys = X, []
    for i, block in enumerate(layers):
        x = apply(part(NORMS, i), block(x))
        ys.append(x.sum())
    return x, ys


@pytest.mark.parametrize("inner", KINDS, ids=lambda kind: f"{kind.__name__} as argument")
@pytest.mark.parametrize("outer", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_a_stack_among_the_arguments_of_a_stack(form: str, outer: Any, inner: Any) -> None:
    make, _, apply = FORMS[form]
    argument, stack = make(inner.of(NORMS)), outer.of(BLOCKS)
    wanted, ys = loop(form, BLOCKS)

    def step(block: Any, x: Any, given: Any) -> Any:
        new = apply(given, block(x))
        return new, new.sum()

    carry, got = stack.scan_via(step, in_axes=0)(X, argument)
    np.testing.assert_allclose(carry, wanted, rtol=1e-6)
    np.testing.assert_allclose(got, jnp.stack(ys), rtol=1e-6)
    carry, listed = stack.collect_via(step, in_axes=0)(X, argument)
    np.testing.assert_allclose(jnp.stack(listed), jnp.stack(ys), rtol=1e-6)


@pytest.mark.parametrize("inner", KINDS, ids=lambda kind: f"{kind.__name__} as argument")
@pytest.mark.parametrize("outer", KINDS, ids=lambda kind: kind.__name__)
def test_a_stack_among_the_arguments_of_independent_layers(outer: Any, inner: Any) -> None:
    wanted = jnp.stack([norm(block(X)) for block, norm in zip(BLOCKS, NORMS, strict=True)])
    given, stack = inner.of(NORMS), outer.of(BLOCKS)
    got = stack.vmap_via(lambda block, norm: norm(block(X)), in_axes=0)(given)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    listed = stack.map_via(lambda block, *, norm: norm(block(X)), in_axes=((), {"norm": 0}))(norm=given)
    np.testing.assert_allclose(jnp.stack(listed), wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_stack_is_scanned_over_by_the_functions(kind: Any) -> None:
    norms, wanted = kind.of(NORMS), X
    for norm, shift in zip(NORMS, SHIFTS, strict=True):
        wanted = norm(wanted) + shift
    np.testing.assert_allclose(snn.fold(lambda x, n, s: n(x) + s)(X, norms, SHIFTS), wanted, rtol=1e-6)
    np.testing.assert_allclose(
        snn.fold(lambda x, both: both["n"](x) + both["s"])(X, {"n": norms, "s": SHIFTS}), wanted, rtol=1e-6
    )
    got = snn.map(lambda n: n(X))(norms.take([2, 1]))
    np.testing.assert_allclose(got, jnp.stack([NORMS[2](X), NORMS[1](X)]), rtol=1e-6)
    _, ys = snn.scan(lambda c, n: (c, n(X)))(None, norms)
    np.testing.assert_allclose(ys, jnp.stack([norm(X) for norm in NORMS]), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_stack_of_another_length_or_axis_is_refused(kind: Any) -> None:
    stack = ArrayStacked.of(BLOCKS)
    with pytest.raises(ValueError, match=r"argument `norm`: expected one element for each of the 3 layers, got 2"):
        stack.fold_via(lambda block, x, norm: norm(block(x)), in_axes=0)(X, kind.of(NORMS[:2]))
    with pytest.raises(ValueError, match="has only axis 0, got in_axes 1"):
        stack.fold_via(lambda block, x, norm: norm(block(x)), in_axes=1)(X, kind.of(NORMS))


def test_unlike_layers_as_argument_are_refused_with_what_takes_them() -> None:
    unlike = BlockSeq.of([NORMS[0], eqx.nn.Identity(), NORMS[2]])
    with pytest.raises(ValueError, match=r"layers 0 and 1 differ.*BlockSeq"):
        ArrayStacked.of(BLOCKS).fold_via(lambda block, x, norm: norm(block(x)), in_axes=0)(X, unlike)
    got = BlockSeq.of(BLOCKS).fold_via(lambda block, x, norm: norm(block(x)), in_axes=0)(X, unlike)
    wanted = X
    for block, norm in zip(BLOCKS, unlike, strict=True):
        wanted = norm(block(wanted))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
