"""Repetitions in sub-programs, and what a roll must leave as it is: derivatives, names, effects, placement, precision."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name

import scanify
from scanify.jaxpr.reading.calls import children, opened
from tests.reroll.programs import equal, lengths, same, same_gradient, scans
from tests.reroll.test_wires import LIST, B, N, W, X, dense, dicts


def equations(jaxpr: Any, *names: str) -> list[Any]:
    """The equations of these primitives, wherever they stand."""
    found = []
    for equation in opened(jaxpr)[0].eqns:
        found += [equation] if equation.primitive.name in names else []
        for child in children(equation):
            found += equations(child, *names)
    return found


def over_time(layers: Any, x: Any) -> Any:
    return jax.lax.scan(lambda x, t: (dicts(layers, x + t), x.sum()), x, jnp.arange(3.0))


def in_a_branch(layers: Any, x: Any) -> Any:
    return jax.lax.cond(x.sum() > 0, lambda x: dicts(layers, x), lambda x: x, x)


def in_a_while(layers: Any, x: Any) -> Any:
    return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, dicts(layers, c[1])), (0, x))


def in_a_checkpoint(layers: Any, x: Any) -> Any:
    return jax.checkpoint(dicts)(layers, x)


def each_in_a_checkpoint(layers: Any, x: Any) -> Any:
    """With a number of its own, and all layers handed to each."""
    for at in range(N):
        x = jax.checkpoint(lambda layers, x, at=at: dense(x * (1 + at / 10), **layers[at]))(layers, x)
    return x


def nested(layers: Any, x: Any) -> Any:
    for at, layer in enumerate([*layers, *layers, *layers]):
        x = dense(x, **layer)
        if at % 6 == 5:
            x = jnp.cos(dense(jnp.sort(x), **layer))
    return x


EQUAL: dict[str, tuple[Callable[..., Any], list[int]]] = {
    "over time": (over_time, [3, N]),
    "in a branch": (in_a_branch, [N]),
    "in a checkpoint": (in_a_checkpoint, [N]),
    "each in a checkpoint": (each_in_a_checkpoint, [N]),
    "periods of runs": (nested, [3, 6]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_is_found_and_the_same(name: str) -> None:
    f, found = EQUAL[name]
    assert same(f, LIST, X, rtol=1e-6) == found


@pytest.mark.parametrize("name", ["each in a checkpoint", *(pytest.param(n, marks=pytest.mark.whole) for n in EQUAL)])
def test_has_the_same_gradient(name: str) -> None:
    same_gradient(EQUAL[name][0], LIST, X)


def test_a_while_loop_has_scans_in_its_body() -> None:
    assert same(in_a_while, LIST, X, rtol=1e-6) == [N]


def test_a_gradient_has_one_scan_for_each_direction() -> None:
    def gradient(layers: Any, x: Any) -> Any:
        return jax.grad(lambda layers: dicts(layers, x).sum())(layers)

    assert same(gradient, LIST, X, rtol=1e-5) == [N - 2, N - 1]  # nothing is kept of the first and the last one


class TestDerivativeRules:
    @staticmethod
    def rule(scale: float) -> Callable[[Any], Any]:
        @jax.custom_jvp
        def f(x: Any) -> Any:
            return jnp.sin(x)

        f.defjvp(lambda p, t: (jnp.sin(p[0]), scale * t[0]))
        return f

    def test_one_for_all_is_kept(self) -> None:
        f = self.rule(7.0)

        def layers(layers: Any, x: Any) -> Any:
            for layer in layers:
                x = f(dense(x, **layer))
            return x

        assert same(layers, LIST, X, rtol=1e-6) == [N]
        same_gradient(layers, LIST, X)

    def test_another_in_one_layer_ends_the_run(self) -> None:
        rules = [self.rule(7.0)] * 4 + [self.rule(5.0)] + [self.rule(7.0)] * 4

        def layers(layers: Any, x: Any) -> Any:
            for layer, f in zip([*layers, *layers], rules, strict=False):
                x = f(dense(x, **layer))
            return x

        assert N not in scans(scanify.reroll(layers, min_layers=3), LIST, X)
        same_gradient(layers, LIST, X)

    def test_of_reverse_mode_are_kept(self) -> None:
        @jax.custom_vjp
        def f(x: Any) -> Any:
            return jnp.sin(x)

        f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (3.0 * g * x,))

        def layers(layers: Any, x: Any) -> Any:
            for layer in layers:
                x = f(dense(x, **layer))
            return x

        assert same(layers, LIST, X, rtol=1e-6) == [N]
        same_gradient(layers, LIST, X)

    def test_a_function_with_layers_inside_stays(self) -> None:
        f = jax.custom_jvp(lambda x: dicts(LIST, x))
        f.defjvp(lambda p, t: (dicts(LIST, p[0]), 2 * t[0]))
        assert scans(scanify.reroll(f, min_layers=3), X) == []


class TestWhatIsNoValue:
    """Beside what it computes a layer may say other things. Where one says another thing it is another layer."""

    @staticmethod
    def differs(change: Callable[[int, Any], Any]) -> None:
        def layers(layers: Any, x: Any) -> Any:
            x = change(0, x)
            for at, layer in enumerate(layers):
                x = change(at, dense(x, **layer))
            return x

        assert scans(scanify.reroll(layers, min_layers=3), LIST, X) == [3, 3]
        same_gradient(layers, LIST, X)

    def test_a_name_for_policies(self) -> None:
        self.differs(lambda at, x: checkpoint_name(x, "a" if at < 3 else "b"))

    def test_a_precision(self) -> None:
        highest, default = jax.lax.Precision.HIGHEST, jax.lax.Precision.DEFAULT
        self.differs(lambda at, x: jnp.dot(x, jnp.eye(4), precision=highest if at < 3 else default))

    def test_a_policy(self) -> None:
        policies = jax.checkpoint_policies
        kinds = (policies.everything_saveable, policies.nothing_saveable)
        self.differs(lambda at, x: jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)), policy=kinds[at < 3])(x))

    def test_a_barrier(self) -> None:
        self.differs(lambda at, x: jax.lax.optimization_barrier(x) if at < 3 else x + 0)

    def test_an_axis(self) -> None:
        self.differs(lambda at, x: jnp.cumsum(x.reshape(2, 2), axis=int(at < 3)).reshape(4))

    def test_a_placement(self) -> None:
        mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
        places = [jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(axis)) for axis in ("d", None)]
        self.differs(lambda at, x: jax.lax.with_sharding_constraint(x, places[at < 3]))

    def test_all_of_it_is_in_the_scan(self) -> None:
        def layers(layers: Any, x: Any) -> Any:
            for layer in layers:
                x = checkpoint_name(dense(x, **layer), "kept")
                x = jnp.dot(x, jnp.eye(4), precision=jax.lax.Precision.HIGHEST)
                x = jax.lax.optimization_barrier(x)
            return x

        program = jax.make_jaxpr(scanify.reroll(layers, min_layers=3))(LIST, X)
        assert lengths(program) == [N]
        assert [equation.params["name"] for equation in equations(program, "name")] == ["kept"]
        assert len(equations(program, "optimization_barrier")) == 1
        precisions = [equation.params["precision"] for equation in equations(program, "dot_general")]
        assert precisions == [None, (jax.lax.Precision.HIGHEST,) * 2]


class TestEffects:
    def test_ordered_callbacks_come_in_order(self) -> None:
        def layers(layers: Any, x: Any, told: Callable[[Any], None]) -> Any:
            for layer in layers:
                x = dense(x, **layer)
                jax.debug.callback(told, x, ordered=True)
            return x

        ours, theirs = [], []
        for f, seen in ((scanify.reroll(layers, min_layers=3), ours), (layers, theirs)):

            def told(x: Any, seen: list[Any] = seen) -> None:
                seen.append(np.asarray(x))

            assert scans(f, LIST, X, told) == ([N] if seen is ours else [])
            jax.jit(f, static_argnums=2)(LIST, X, told)
            jax.effects_barrier()
        assert len(ours) == N
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)

    def test_a_callback_of_its_own_in_each_layer_ends_the_run(self) -> None:
        def layers(layers: Any, x: Any) -> Any:
            for at, layer in enumerate(layers):
                x = dense(x, **layer)
                jax.debug.callback(print, at, x, ordered=True) if at % 2 else jax.debug.print("{}", x)
            return x

        assert N not in scans(scanify.reroll(layers, min_layers=3), LIST, X)

    def test_what_is_written_to_is_left_alone(self) -> None:
        def layers(x: Any) -> Any:
            ref = jax.new_ref(jnp.zeros(4))
            for w, b in zip(W, B, strict=True):
                x = dense(x, w, b)
                ref[...] += x
            return x, ref[...]

        assert scans(scanify.reroll(layers, min_layers=3), X) == []
        equal(scanify.reroll(layers, min_layers=3)(X), layers(X), 0.0)


class TestRemat:
    @pytest.mark.parametrize(
        "remat",
        [
            "nested",
            *(pytest.param(each, marks=pytest.mark.whole) for each in ("full", "dots", "save_all", True, False)),
        ],
    )
    def test_has_the_gradients_of_the_loop(self, remat: Any) -> None:
        same_gradient(dicts, [*LIST, *LIST, *LIST], X, remat=remat)

    def test_is_in_the_program(self) -> None:
        program = jax.make_jaxpr(scanify.reroll(dicts, remat="full"))(LIST, X)
        (inside,) = equations(program, "scan")
        (body,) = opened(inside.params["jaxpr"])[0].eqns
        assert body.primitive.name in ("checkpoint", "remat2")
        nested = jax.make_jaxpr(scanify.reroll(dicts, remat="nested"))([*LIST, *LIST, *LIST], jnp.ones(4))
        assert len(lengths(nested)) >= 1


def with_repetitions_inside(layers: Any, x: Any) -> Any:
    for at, layer in enumerate(layers):

        def block(x: Any, layer: Any = layer, at: int = at) -> Any:
            for _ in range(6):
                x = jnp.sin(layer["w"] @ x + layer["b"]) - jnp.cos(x)
            return x * (2.0 + at)

        x = jax.checkpoint(block)(x)
    return x


def test_numbers_of_a_checkpoint_that_repeats_something_inside_are_put_where_they_stand() -> None:
    ours = scanify.reroll(with_repetitions_inside, min_layers=3)
    assert lengths(jax.make_jaxpr(ours)(LIST, X)) == [N]
    equal(jax.jit(ours)(LIST, X), jax.jit(with_repetitions_inside)(LIST, X), 1e-6)
