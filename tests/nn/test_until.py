"""`until_via`: layers up to one that ends the loop, and sequences without a layer."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq

DEPTH = 6
X = jnp.linspace(-0.5, 1.0, 4)
CALLS: list[int] = []


class Layer(eqx.Module):
    weight: jax.Array
    last: bool = False

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.tanh(self.weight @ x)


def layers(last: int | None = None) -> list[Any]:
    keys = jr.split(jr.key(0), DEPTH)
    return [Layer(jr.normal(key, (4, 4)), at == last) for at, key in enumerate(keys)]


def step(layer: Any, x: Any, i: int, stop: int) -> tuple[Any, Any]:
    CALLS.append(i)
    if i == stop:
        return x, (layer(x) * 2, "stopped", i)
    return layer(x), None


def loop(model: Any, x: Any, stop: int) -> tuple[Any, Any]:
    for i, layer in enumerate(model):
        x, y = step(layer, x, i, stop)
        if y is not None:
            return x, y
    return x, None


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
@pytest.mark.parametrize(("stop", "remat"), [(-1, True), (0, True), (3, False), (3, "nested"), (DEPTH - 1, True)])
def test_it_gives_what_the_loop_gives(kind: Any, stop: int, remat: Any) -> None:
    model = kind.of(layers(), gradient_checkpointing=remat)

    def scanned(model: Any, x: Any) -> tuple[Any, Any]:
        return model.until_via(step, in_axes=(0, None))(x, range(DEPTH), stop)

    (x, y), (want, last) = scanned(model, X), loop(layers(), X, stop)
    np.testing.assert_allclose(x, want, rtol=1e-6)
    assert (y is None) == (last is None)
    if y is not None:
        np.testing.assert_allclose(y[0], last[0], rtol=1e-6)
        assert y[1:] == last[1:] == ("stopped", stop)

    def total(run: Any) -> Any:
        return lambda model, x: sum(jnp.sum(one) for one in jax.tree.leaves(run(model, x)) if eqx.is_array(one))

    got = eqx.filter_jit(eqx.filter_grad(total(scanned)))(model, X)
    wanted = eqx.filter_grad(total(lambda model, x: loop(model, x, stop)))(layers(), X)
    for mine, theirs in zip(list(got), wanted, strict=True):
        np.testing.assert_allclose(mine.weight, theirs.weight, rtol=1e-5, atol=1e-6)


def test_no_layer_is_looked_at_behind_the_end() -> None:
    unlike = [*layers()[:3], Layer(jnp.ones((9, 9)))]
    CALLS.clear()
    x, _ = BlockSeq.of(unlike).until_via(step, in_axes=(0, None))(X, range(4), 2)
    assert CALLS == [0, 1, 2]
    np.testing.assert_allclose(x, loop(unlike, X, 2)[0], rtol=1e-6)


def test_layers_before_the_end_are_one_scan() -> None:
    """What ends the loop is no array, so the layer that does is like the others."""

    def ends(layer: Any, x: Any, i: int) -> tuple[Any, Any]:
        return layer(x), (() if i == 3 else None)

    model = BlockSeq.of(layers())
    jaxpr = jax.make_jaxpr(lambda x: model.until_via(ends, in_axes=(0,))(x, range(DEPTH)))(X)
    scans = [equation for equation in jaxpr.eqns if equation.primitive.name == "scan"]
    assert [scan.params["length"] for scan in scans] == [4]
    assert not any(equation.primitive.name == "dot_general" for equation in jaxpr.eqns)


def test_a_field_of_the_layer_may_end_it() -> None:
    model = BlockSeq.of(layers(last=2))
    x, y = model.until_via(lambda layer, x: (layer(x), () if layer.last else None))(X)
    assert y == ()
    np.testing.assert_allclose(x, loop(layers()[:3], X, -1)[0], rtol=1e-6)


def test_an_end_that_depends_on_arrays_is_an_error() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError):
        BlockSeq.of(layers()).until_via(lambda layer, x: (layer(x), () if x[0] > 0 else None))(X)


def test_of_no_layers_it_is_the_identity() -> None:
    model: Any = BlockSeq.of([])
    state = (X, {"b": 1, "a": None})
    assert model.fold(state) is state
    assert model.fold_via(lambda layer, x, k: x * k, in_axes=(0,))(X, []) is X
    assert model.until_via(lambda layer, x: (x, 1))(X) == (X, None)
    assert model.collect_via(lambda layer, x: (x, x))(X) == (X, [])
    assert model.map_via(lambda layer: X)() == []
    assert (len(model), list(model), model[1:], list(reversed(model))) == (0, [], [], [])
    assert model(X) is X
    assert model.describe() == "0 layers: none"
    assert eqx.filter_jit(lambda model, x: model.fold(x))(model, X).shape == X.shape
    with pytest.raises(ValueError, match="expected at least one layer, whose result says what is stacked"):
        model.scan_via(lambda layer, x: (x, x))(X)


def collecting(layer: Any, x: Any, i: int, stop: int) -> tuple[Any, Any, bool]:
    CALLS.append(i)
    x = layer(x)
    return x, ({"z": x * i, "a": "stopped"} if i == stop else x), i == stop


def collected(model: Any, x: Any, stop: int) -> tuple[Any, list[Any]]:
    ys = []
    for i, layer in enumerate(model):
        x, y, last = collecting(layer, x, i, stop)
        ys.append(y)
        if last:
            break
    return x, ys


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
@pytest.mark.parametrize(("stop", "remat"), [(-1, True), (0, True), (3, False), (3, "nested"), (DEPTH - 1, True)])
def test_what_is_collected_ends_with_the_last_layer(kind: Any, stop: int, remat: Any) -> None:
    model = kind.of(layers(), gradient_checkpointing=remat)

    def scanned(model: Any, x: Any) -> tuple[Any, Any]:
        return model.collect_until_via(collecting, in_axes=(0, None))(x, range(DEPTH), stop)

    (x, ys), (want, wanted) = scanned(model, X), collected(layers(), X, stop)
    np.testing.assert_allclose(x, want, rtol=1e-6)
    assert len(ys) == len(wanted)
    assert [list(y) if isinstance(y, dict) else None for y in ys] == [
        list(y) if isinstance(y, dict) else None for y in wanted
    ]
    for mine, theirs in zip(jax.tree.leaves(ys), jax.tree.leaves(wanted), strict=True):
        if isinstance(theirs, str):
            assert mine == theirs
        else:
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)

    def total(run: Any) -> Any:
        return lambda model, x: sum(jnp.sum(one) for one in jax.tree.leaves(run(model, x)) if eqx.is_array(one))

    got = eqx.filter_jit(eqx.filter_grad(total(scanned)))(model, X)
    grads = eqx.filter_grad(total(lambda model, x: collected(model, x, stop)))(layers(), X)
    for mine, theirs in zip(list(got), grads, strict=True):
        np.testing.assert_allclose(mine.weight, theirs.weight, rtol=1e-5, atol=1e-6)


def test_no_layer_is_looked_at_behind_the_last_one() -> None:
    unlike = [*layers()[:3], Layer(jnp.ones((9, 9)))]
    CALLS.clear()
    _, ys = BlockSeq.of(unlike).collect_until_via(collecting, in_axes=(0, None))(X, range(4), 2)
    assert CALLS == [0, 1, 2]
    assert len(ys) == 3


def test_whether_a_layer_is_the_last_is_a_bool_of_python() -> None:
    model = BlockSeq.of(layers())
    with pytest.raises(jax.errors.TracerBoolConversionError):
        model.collect_until_via(lambda layer, x: (layer(x), x, x[0] > 0))(X)
    with pytest.raises(TypeError, match="says whether it is the last one"):
        model.collect_until_via(lambda layer, x: (layer(x), x))(X)  # type: ignore[arg-type, return-value]


def test_nothing_is_collected_where_there_is_no_layer() -> None:
    x, ys = BlockSeq.of([]).collect_until_via(collecting, in_axes=(0, None))(X, [], 2)
    assert ys == []
    np.testing.assert_array_equal(x, X)
