"""What a rerolled function reads beside its arguments: what it is now, not what it was when it was traced first."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

import scanify
from tests.reroll.programs import equal
from tests.reroll.test_wires import LIST, X, dicts

TWICE = jax.tree.map(lambda each: 2 * each, LIST)
HELD: dict[str, Any] = {}
layers_now = LIST


def reroll(f: Any) -> Any:
    return scanify.reroll(f, min_layers=3)


def test_a_list_that_is_written_to() -> None:
    layers = list(LIST)
    rerolled = reroll(lambda x: dicts(layers, x))
    rerolled(X)
    layers[0] = LIST[1]
    equal(rerolled(X), dicts(layers, X), 1e-6)


def test_a_global_name(monkeypatch: Any) -> None:
    rerolled = reroll(lambda x: dicts(layers_now, x))
    rerolled(X)
    monkeypatch.setitem(globals(), "layers_now", TWICE)
    equal(rerolled(X), dicts(TWICE, X), 1e-6)


def test_an_array_of_numpy() -> None:
    import numpy as np

    scale = np.ones(4, np.float32)
    rerolled = reroll(lambda x: dicts(LIST, x) * scale)
    rerolled(X)
    scale[:] = 3
    equal(rerolled(X), 3 * dicts(LIST, X), 1e-6)


class Model:
    """No pytree: jax knows nothing of its arrays."""

    def __init__(self, layers: Any) -> None:
        self.layers = layers

    @reroll
    def __call__(self, x: Any) -> Any:
        return dicts(self.layers, x)


def test_an_object_that_is_trained_in_place() -> None:
    model = Model(LIST)
    model(X)
    model.layers = TWICE
    equal(model(X), dicts(TWICE, X), 1e-6)


def test_arrays_of_another_trace() -> None:
    model = Model(LIST)
    model(X)

    def loss(layers: Any, model: Any = model) -> Any:
        model.layers = layers
        return model(X).sum()

    for layers in (LIST, TWICE):
        equal(jax.grad(loss)(layers), jax.grad(lambda layers: dicts(layers, X).sum())(layers), 1e-5)


def test_traced_values_in_a_global_name() -> None:
    @reroll
    def f(x: Any) -> Any:
        return dicts(HELD["layers"], x)

    def loss(layers: Any) -> Any:
        HELD["layers"] = layers
        return f(X).sum()

    for layers in (LIST, TWICE):
        equal(jax.jit(loss)(layers), dicts(layers, X).sum(), 1e-6)
    HELD.clear()


class Traces:
    """How often a function was traced. A list would be one of the things that it has captured."""

    count = 0


@dataclasses.dataclass(frozen=True)
class Settings:
    scale: float = 2.0


def test_is_traced_once_where_numbers_and_settings_are_equal() -> None:
    held = {"layers": LIST, "scale": 3.0}

    @reroll
    def f(x: Any, scale: float, settings: Settings) -> Any:
        Traces.count += 1
        return dicts(held["layers"], x) * scale * settings.scale * held["scale"]

    settings, Traces.count = Settings(), 0
    for scale in (0.5, 0.25 * 2, 0.5):
        f(X, scale, settings)
    assert Traces.count == 1
    equal(f(X, 0.25, settings), f(X, 0.5, settings) / 2, 1e-6)
    assert Traces.count == 2


def test_what_jax_is_told_is_followed() -> None:
    rerolled = reroll(lambda layers, x: dicts(layers, x))
    with jax.enable_x64(True):
        given = jax.tree.map(lambda each: each.astype(jnp.float64), (LIST, X))
        for layers, x in ((LIST, X), given):
            equal(jax.jit(rerolled)(layers, x), jax.jit(dicts)(layers, x), 1e-6)
        assert rerolled(*given).dtype == jnp.float64
    assert rerolled(LIST, X).dtype == jnp.float32
    for precision in ("highest", "default"):
        with jax.default_matmul_precision(precision):
            ours, theirs = (str(jax.make_jaxpr(f)(LIST, X)) for f in (rerolled, dicts))
            assert ("HIGHEST" in ours) == ("HIGHEST" in theirs) == (precision == "highest")
