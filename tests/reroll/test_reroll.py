"""`scanify.reroll` on models of Equinox: layers become one scan, with the same values and gradients, and by proof."""

import runpy
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import scanify
from scanify.errors import ScanifyError
from scanify.rolling import NotRerolled
from scanify.rolling.scans import emit
from scanify.rolling.scans.body import Slot, stack
from tests.fixture_helpers import ROOT
from tests.reroll.programs import equal, same, same_gradient, scans
from tests.reroll.test_captured import Traces


class Layer(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key: Any) -> None:
        up, down = jax.random.split(key)
        self.norm, self.up, self.down = (
            eqx.nn.LayerNorm(4),
            eqx.nn.Linear(4, 8, key=up),
            eqx.nn.Linear(8, 4, key=down),
        )

    def __call__(self, x: Any) -> Any:
        return x + self.down(jax.nn.gelu(self.up(self.norm(x))))


class Model(eqx.Module):
    first: eqx.nn.Linear
    layers: list[Layer]

    def __call__(self, x: Any) -> Any:
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return x.sum()


MODEL = Model(eqx.nn.Linear(3, 4, key=jax.random.key(9)), [Layer(jax.random.key(at)) for at in range(6)])
X = jnp.arange(3.0)


def call(model: Any, x: Any) -> Any:
    return model(x)


class TestAStack:
    def test_is_one_scan(self) -> None:
        assert same(call, MODEL, X, rtol=1e-6) == [6]

    def test_has_the_gradients_of_its_loop(self) -> None:
        same_gradient(call, MODEL, X)

    def test_under_vmap(self) -> None:
        xs = jnp.arange(6.0).reshape(2, 3)
        ours = eqx.filter_vmap(scanify.reroll(call, min_layers=3), in_axes=(None, 0))
        assert scans(ours, MODEL, xs) == [6]
        equal(ours(MODEL, xs), eqx.filter_vmap(call, in_axes=(None, 0))(MODEL, xs), 1e-6)

    def test_has_the_forward_derivatives_of_its_loop(self) -> None:
        def tangent(f: Any) -> Any:
            return jax.jvp(lambda x: f(MODEL, x), (X,), (jnp.ones(3),))

        equal(tangent(scanify.reroll(call, min_layers=3)), tangent(call), 1e-5)

    def test_that_is_jitted_itself(self) -> None:
        jitted = eqx.filter_jit(call)
        assert scans(scanify.reroll(jitted, min_layers=3), MODEL, X) == [6]

    def test_that_the_function_closes_over(self) -> None:
        def loss(model: Any) -> Any:
            return scanify.reroll(lambda x: model(x), min_layers=3)(X)

        equal(eqx.filter_grad(loss)(MODEL), eqx.filter_grad(lambda model: model(X))(MODEL), 1e-5)

    def test_of_two_layers_stays(self) -> None:
        two = eqx.tree_at(lambda model: model.layers, MODEL, MODEL.layers[:2])
        assert scans(scanify.reroll(call, min_layers=3), two, X) == []

    def test_of_fewer_layers_than_are_asked_for_stays(self) -> None:
        assert scans(scanify.reroll(call, min_layers=7), MODEL, X) == []
        assert scans(scanify.reroll(call, min_layers=6), MODEL, X) == [6]


class TestTheGPT:
    def test_is_one_scan_with_the_values_and_gradients_of_its_loop(self) -> None:
        cases, before = (runpy.run_path(str(ROOT / "gpt" / name)) for name in ("cases.py", "before.py"))
        model, args, kwargs = cases["gpt_small"](SimpleNamespace(**before))

        def logits(model: Any, key: Any) -> Any:
            return model(*args, key=key)

        assert same(logits, model, kwargs["key"], rtol=1e-6) == [4]
        same_gradient(logits, model, kwargs["key"])


class TestTheFunction:
    def test_is_traced_once_for_a_signature(self) -> None:
        @scanify.reroll
        def f(model: Any, x: Any) -> Any:
            Traces.count += 1
            return model(x)

        Traces.count = 0
        f(MODEL, X)
        f(MODEL, X + 1)
        assert Traces.count == 1
        jax.vmap(f, in_axes=(None, 0))(MODEL.first, jnp.ones((2, 3)))
        assert Traces.count == 2

    def test_is_a_method(self) -> None:
        class Rerolled(Model):
            @scanify.reroll(min_layers=4)
            def __call__(self, x: Any) -> Any:
                return super().__call__(x)

        model = Rerolled(MODEL.first, MODEL.layers)
        assert scans(lambda x: model(x), X) == [6]

    def test_may_give_anything(self) -> None:
        def f(model: Any, x: Any, flag: bool) -> Any:
            return {"y": model(x), "flag": flag, "name": "f", "none": None, "number": 3}

        equal(scanify.reroll(f, min_layers=3)(MODEL, X, True), f(MODEL, X, True), 1e-6)
        assert scanify.reroll(f, min_layers=3)(MODEL, X, 1)["flag"] is not True

    def test_that_writes_to_its_arguments_runs_as_it_is_written(self) -> None:
        def f(model: Any, x: Any, cache: dict[str, Any]) -> Any:
            cache["x"] = model.first(x)
            return model(x)

        cache = {"x": jnp.zeros(4)}
        rerolled = scanify.reroll(f, min_layers=3)
        with pytest.warns(NotRerolled, match="writes to its arguments") as said:
            rerolled(MODEL, X, cache)
        assert said[0].filename == __file__
        equal(cache["x"], MODEL.first(X), 0.0)
        rerolled(MODEL, X + 1, cache)  # without another warning
        equal(cache["x"], MODEL.first(X + 1), 0.0)

    def test_must_be_one(self) -> None:
        with pytest.raises(ScanifyError, match="expected a function"):
            scanify.reroll(3)  # type: ignore[call-overload]
        with pytest.raises(ScanifyError, match="min_layers"):
            scanify.reroll(call, min_layers=1)
        with pytest.raises(ValueError, match="remat policy"):
            scanify.reroll(call, remat="half")  # type: ignore[call-overload]


class TestADoubt:
    @pytest.mark.parametrize("name", ["first", "order"])
    def test_makes_it_run_as_it_is_written(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a carry that begins with zeros, or with the layers in another order."""
        if name == "first":
            monkeypatch.setattr(Slot, "init", lambda self, read: jnp.zeros(4))
        else:
            monkeypatch.setattr(emit, "stack", lambda column: stack(column)[::-1])
        rerolled = scanify.reroll(call, min_layers=3)
        with pytest.warns(NotRerolled, match="call runs as it is written.*not proved equal") as said:
            ours = rerolled(MODEL, X)
        assert said[0].filename == __file__
        equal(ours, call(MODEL, X), 0.0)
        assert scans(rerolled, MODEL, X) == []  # and does not warn again

    def test_is_not_looked_for_without_check(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Slot, "init", lambda self, read: jnp.zeros(4))
        assert float(scanify.reroll(call, check=False, min_layers=3)(MODEL, X)) != pytest.approx(float(call(MODEL, X)))
