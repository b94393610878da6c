"""A layer that has been traced is rematted as it was traced: the program is that of `jax.checkpoint`, which traces again."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.jaxpr.reading.calls import children
from scanify.nn import BlockSeq
from scanify.nn.covers import apply_cover
from scanify.nn.programs.literals import lifted, replay
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.rematted import rematted


class Scaled(eqx.Module):
    weight: Any
    rate: float

    def __call__(self, x: Any, beside: Any = 0.0) -> Any:
        return jnp.tanh(x * self.weight) * self.rate + beside


TABLE = jnp.arange(1.0, 5.0)


def _captures(layer: Scaled, x: Any) -> Any:
    return layer(x) + TABLE * jnp.sin(TABLE)


def _slices(layer: Scaled, x: Any) -> Any:
    return layer(x) + jax.lax.slice(TABLE, [int(10 * layer.rate)], [int(10 * layer.rate) + 1])


@jax.jit
def _called(x: Any, rate: Any) -> Any:
    return x * rate + 1


def _in_a_call(layer: Scaled, x: Any) -> Any:
    return _called(layer(x), layer.rate)


def _layers(count: int, *, other: bool = False) -> list[Any]:
    rates = [0.1 * at for at in range(count)]
    made = [Scaled(jnp.linspace(0.5, 1.0, 4) + rate, rate) for rate in rates]
    return [*made, Scaled(jnp.ones(1), 0.5)] if other else made


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "numbers": (Scaled.__call__, _layers(4)),
    "a single layer of another kind": (Scaled.__call__, _layers(3, other=True)),
    "captured": (_captures, _layers(4)),
    "slices": (_slices, _layers(3)),
    "in a call": (_in_a_call, _layers(4)),
    "alike": (Scaled.__call__, [Scaled(jnp.ones(4), 0.5)] * 2 + [Scaled(jnp.zeros(4), 0.5)] * 2),
}


def _primitives(jaxpr: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for equation in jaxpr.eqns:
        # A number is cast to its weak type before the layer that is taken, and in the layer that is traced again.
        found[equation.primitive.name] += equation.primitive.name != "convert_element_type"
        for child in children(equation):
            found += _primitives(getattr(child, "jaxpr", child))
    return found


def _step(fn: Callable[..., Any], policy: Any) -> Callable[[Any, Any], Any]:
    def loss(layers: Any, x: Any) -> Any:
        if isinstance(layers, list):
            for layer in layers:
                x = fn(layer, x)
        else:
            x = layers.fold_via(fn)(x)
        return jnp.sum(x**2)

    return eqx.filter_value_and_grad(loss)


@pytest.mark.parametrize("policy", [True, "dots"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_that_of_a_second_trace(name: str, policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fn, layers = PROGRAMS[name]
    x, stack = jnp.linspace(-1.0, 1.0, 4), BlockSeq.of(layers, gradient_checkpointing=policy)

    def traced() -> Counter[str]:
        return _primitives(jax.make_jaxpr(lambda x: _step(fn, policy)(stack, x)[0])(x).jaxpr)

    taken = traced()
    monkeypatch.setattr(apply_cover, "rematted", lambda *args, **kwargs: None)
    assert taken == traced()


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_the_loop(name: str) -> None:
    fn, layers = PROGRAMS[name]
    x = jnp.linspace(-1.0, 1.0, 4)
    value, gradient = _step(fn, True)(BlockSeq.of(layers), x)
    same, each = _step(fn, True)(layers, x)
    np.testing.assert_allclose(value, same, rtol=1e-6)
    if name != "alike":  # a list has the copies of one layer, a `BlockSeq` has it once
        for mine, theirs in zip(gradient, each, strict=True):
            np.testing.assert_allclose(mine.weight, theirs.weight, rtol=1e-5, atol=1e-7)


def test_nothing_is_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> Any:
        raise AssertionError("a layer was traced a second time")

    monkeypatch.setattr(apply_cover, "replay", never)
    for name in ("numbers", "a single layer of another kind", "captured", "alike"):
        fn, layers = PROGRAMS[name]
        jax.make_jaxpr(lambda x, fn=fn, layers=layers: BlockSeq.of(layers).fold_via(fn)(x))(jnp.ones(4))


def test_arrays_of_another_type_are_traced_for() -> None:
    jaxpr = jax.make_jaxpr(lambda x: x * 2)(jnp.ones(3)).jaxpr

    def of(x: Any, **policy: Any) -> Any:
        return rematted(jaxpr, [], [x], ScanCheckpointPolicy(**policy), straight=False)

    [out] = of(jnp.ones(3))
    np.testing.assert_array_equal(out, 2 * np.ones(3))
    assert of(jnp.ones(4)) is None
    assert of(jnp.ones(3, jnp.int32)) is None
    assert of(jnp.ones(3, jnp.float16)) is None
    assert of(jnp.ones(3), save_block_internals=("a",)) is None
    assert of(jnp.ones(3), disable=True) is None
    printing = jax.make_jaxpr(lambda x: (jax.debug.print("{}", x), x)[1])(jnp.ones(3)).jaxpr
    assert rematted(printing, [], [jnp.ones(3)], ScanCheckpointPolicy(), straight=False) is None


def test_a_weak_type_is_another_type() -> None:
    jaxpr = jax.make_jaxpr(lambda x: x * 2)(jnp.asarray(1.0, jnp.float32)).jaxpr
    weak = jnp.asarray(1.0)
    assert weak.weak_type
    assert rematted(jaxpr, [], [weak], ScanCheckpointPolicy(), straight=False) is None


def test_numbers_are_lifted_or_left_to_a_replay() -> None:
    def program(x: Any) -> Any:
        return jax.lax.slice(_called(x * 3.0, 2.0), [1], [2])

    jaxpr = jax.make_jaxpr(program)(jnp.ones(3)).jaxpr
    names = [equation.primitive.name for equation in jaxpr.eqns]
    times = (names.index("mul"), 1)
    new = lifted(jaxpr, [times])
    assert len(new.invars) == 2
    given = jnp.asarray(5.0, jnp.float32)
    number = jax.lax.convert_element_type(given, jnp.float32)
    np.testing.assert_array_equal(
        replay(new, [], [jnp.ones(3), number], {})[0], replay(jaxpr, [], [jnp.ones(3)], {times: number})[0]
    )
    assert lifted(jaxpr, [(names.index("slice"), -1)]) is None
    assert lifted(jaxpr, [(len(names) - 2, 0, 1)]) is None
    assert lifted(jaxpr, []) is jaxpr
