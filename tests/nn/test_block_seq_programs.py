"""Which layers a sequence takes for one scan: those whose programs differ in scalars and arrays alone."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import BlockSeq
from tests.nn.of_layers import D, X, assert_same, found, loop_plain

pytestmark = pytest.mark.usefixtures("float64")


def squares(x: Any) -> Any:
    return x * x


@jax.custom_jvp
def honest(x: Any) -> Any:
    return x * x


@jax.custom_jvp
def liar(x: Any) -> Any:
    return x * x


honest.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
liar.defjvp(lambda primals, tangents: (primals[0] ** 2, 7 * primals[0] * tangents[0]))


@jax.custom_vjp
def honest_vjp(x: Any) -> Any:
    return x * x


@jax.custom_vjp
def liar_vjp(x: Any) -> Any:
    return x * x


honest_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
liar_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (7 * x * g,))


for _one, _other in ((honest, liar), (honest_vjp, liar_vjp)):
    _other.__name__ = _one.__name__  # type: ignore[attr-defined]
    _other.fun.__name__ = _one.fun.__name__


class Apply(eqx.Module):
    weight: jax.Array
    function: Callable[..., Any]

    def __call__(self, x: Any) -> Any:
        return self.function(x) * self.weight


def applied(*functions: Callable[..., Any]) -> list[Any]:
    return [Apply(1 + jr.normal(jr.key(at), (D,)), function) for at, function in enumerate(functions)]


UNLIKE = {
    "where gradients stop": (squares, lambda x: jax.lax.stop_gradient(x) * x),
    "rules for tangents": (honest, liar),
    "rules for cotangents": (honest_vjp, liar_vjp),
    "a literal that is a parameter": (lambda x: x**2, lambda x: x**3),
    "the order of operands": (lambda x: x - jnp.sin(x), lambda x: jnp.sin(x) - x),
    "slices of two sizes": (lambda x: x * x[:1], lambda x: x * x[:2].sum()),
    "slices with strides": (lambda x: x * x[:2:2], lambda x: x * x[1:3:2]),
    "constants of two shapes": (lambda x: x + np.arange(3.0), lambda x: x + np.arange(3.0)[:1]),
    "remat": (squares, jax.checkpoint(squares)),
}


@pytest.mark.parametrize("pair", UNLIKE.values(), ids=UNLIKE)
def test_programs_that_differ_in_more_than_scalars_are_apart(pair: Any) -> None:
    layers = applied(*pair * 3)
    assert found(layers, X) == "6 layers: 3 x (Apply (a) + Apply (b))"
    blocks = BlockSeq.of(layers)
    assert_same(blocks.fold(X), loop_plain(layers, X))
    assert_same(jax.grad(lambda x: jnp.sum(blocks.fold(x)))(X), jax.grad(lambda x: jnp.sum(loop_plain(layers, x)))(X))


ROWS = list(jr.normal(jr.key(5), (4, 3)))
TABLE, KEYS = jnp.arange(4.0) + 1, jr.split(jr.key(0), 4)
ALIKE = {
    "larger constants": [lambda x, by=by: x + np.arange(3.0) ** by for by in (0, 1, 1, 2)],
    "arrays that are closed over": [lambda x, row=row: x * jnp.sin(x + row) * TABLE[:3] for row in ROWS],
    "two arrays each, of which some are the same": [lambda x, at=at: x * ROWS[at] + ROWS[at - 1] for at in range(4)],
    "functions made anew": [lambda x: jnp.sin(x) for _ in range(4)],
    "jitted functions made anew": [jax.jit(lambda x: jnp.sin(x) * 2) for _ in range(4)],
    "one rule for tangents": [lambda x: honest(x) for _ in range(4)],
    "one rule for cotangents": [lambda x: honest_vjp(x) for _ in range(4)],
    "activations of jax": [lambda x: jax.nn.silu(x) + jax.nn.relu(x) + jax.nn.gelu(x) for _ in range(4)],
    "scalars": [lambda x, by=by: jnp.sin(x) * by for by in (0.5, 0.5, -0.0, 2.0)],
    "scalars in a jitted function": [lambda x, by=by: jax.jit(lambda x: x * by)(x) for by in (0.5, 0.5, -0.0, 2.0)],
    "scalars in a jitted function in another": [
        lambda x, by=by: jax.jit(lambda x: jax.jit(lambda x: jnp.sin(x) / by)(x) + by)(x) for by in (0.5, 1.5, 3.0, 2.0)
    ],
    "integer scalars": [lambda x, by=by: jax.lax.dynamic_index_in_dim(x, by) + x for by in (0, 2, 1, 0)],
    "entries of one array": [lambda x, at=at: x * TABLE[at] for at in (0, 2, 1, -1)],
    "slices of one size": [lambda x, at=at: x + jnp.concatenate([x, 2 * x])[at : at + D] for at in (0, 2, 1, 3)],
    "slices in a jitted function": [lambda x, at=at: jax.jit(lambda x: x * TABLE[at])(x) for at in (0, 2, 1, 3)],
    "entries of keys": [lambda x, at=at: x * jr.normal(KEYS[at], (D,)) for at in (0, 2, 1, 3)],
    "equal constants": [lambda x: x + np.arange(3.0) for _ in range(4)],
    "what no result reads": [lambda x, by=by: (jnp.cos(x) ** by, jnp.sin(x))[1] for by in (2, 3, 4, 5)],
}


@pytest.mark.parametrize("functions", ALIKE.values(), ids=ALIKE)
def test_programs_that_differ_in_scalars_alone_are_one_scan(functions: Any) -> None:
    layers = applied(*functions)
    assert found(layers, X) == "4 layers: 4 x Apply"
    blocks = BlockSeq.of(layers)
    assert_same(blocks.fold(X), loop_plain(layers, X))
    got = jax.jit(jax.grad(lambda x: jnp.sum(blocks.fold(x))))(X)
    assert_same(got, jax.grad(lambda x: jnp.sum(loop_plain(layers, x)))(X))


def test_a_layer_may_change_the_shape_and_dtype_of_the_carry() -> None:
    class Cut(eqx.Module):
        weight: jax.Array

        def __call__(self, x: Any) -> Any:
            return (self.weight @ x).astype(jnp.float32)

    weights = [jr.normal(jr.key(at), (D, 5 if at == 0 else D)) for at in range(6)]
    layers = [Cut(weight) for weight in weights]
    x = np.linspace(0, 1, 5)
    assert_same(BlockSeq.of(layers).fold(x), loop_plain(layers, x))
    assert found(layers, x, fn=lambda layer, x: layer(x)) == "6 layers: Cut (a) + 5 x Cut (b)"


def test_a_weak_typed_carry_goes_the_way_of_the_loop() -> None:
    class Add(eqx.Module):
        weight: jax.Array

        def __call__(self, x: Any) -> Any:
            return x + self.weight

    layers = [Add(jnp.float32(at)) for at in range(5)]
    got, want = BlockSeq.of(layers).fold(0.5), loop_plain(layers, 0.5)
    assert got == want
    assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)


def test_arrays_of_another_list_are_scanned_over_and_differentiated() -> None:
    layers, others = applied(squares, squares, squares, squares), applied(*[jnp.sin] * 4)

    def body(layer: Any, x: Any, at: int) -> Any:
        x = layer(x)
        return others_of[at](x) * shared if at >= 0 else x

    def folded(others: Any, shared_: Any) -> Any:
        nonlocal others_of, shared
        others_of, shared = others, shared_
        return jnp.sum(BlockSeq.of(layers).fold_via(body, in_axes=(0,))(X, range(4)))

    def looped(others: Any, shared_: Any) -> Any:
        x = X
        for layer, other in zip(layers, others, strict=True):
            x = other(layer(x)) * shared_
        return jnp.sum(x)

    others_of, shared = others, X
    given = (others, X + 1)
    assert_same(eqx.filter_grad(lambda both: folded(*both))(given), eqx.filter_grad(lambda both: looped(*both))(given))
    jaxpr = eqx.filter_make_jaxpr(lambda both: folded(*both))(given)[0].jaxpr
    (scan,) = [one for one in jaxpr.eqns if one.primitive.name == "scan"]
    shapes = [one.aval.shape for one in scan.invars]
    assert shapes.count((4, D)) == 2  # the weights of the layers and of the others; what all share is not scanned over
