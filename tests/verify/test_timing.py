"""Timing a case: figures of the loop and of its scan, without verdicts."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import pytest

from scanify.errors import ScanifyError
from scanify.verify.measure import measure
from scanify.verify.measure.timing import timed_case
from scanify.verify.verdict import Status

SOURCE = """
import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import ArrayStacked

class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        return jnp.tanh(self.linear(x))

class Model(eqx.Module):
    layers: list[Block] | ArrayStacked[Block]

    def __init__(self, key):
        layers = [Block(eqx.nn.Linear(4, 4, key=k)) for k in jax.random.split(key, 3)]
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

def case():
    return Model(jax.random.key(0)), (jnp.ones(4),)
"""
LOOP = "for layer in self.layers:\n            x = layer(x)\n        return x"
LIST, STACK = "self.layers = layers", "self.layers = ArrayStacked.of(layers)"
SCAN = {LIST: STACK, LOOP: "return self.layers.fold(x)"}


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_SECONDS", 0.0)


def test_every_figure_is_measured(load_twice: Any) -> None:
    both = load_twice(SOURCE, SCAN)
    result = timed_case("c", both.before.case, both.after.case, policies=("none", None), abstract=False, files=None)
    assert (result.case, result.layers, result.good) == ("c", 3, False)
    assert [each.policy for each in result.policies] == ["none", "as written"]
    assert {each.outputs.status for each in result.policies} == {Status.NOT_RUN}
    for each in (result.original, *(policy.measured for policy in result.policies)):
        assert each.step_seconds is not None and each.step_seconds > 0
        assert each.call_seconds is not None and each.call_seconds > 0
        assert each.build_seconds is not None and each.build_seconds > 0
        assert each.needed_bytes is not None and each.needed_bytes > 3 * 4 * 4 * 4
        assert each.flops is not None and each.flops >= 3 * 3 * 2 * 4 * 4  # forward, and back to x and to the weights
    first, second = (policy.measured.flops for policy in result.policies)
    assert first is not None and second is not None and first < second  # as written it recomputes


def test_what_has_no_gradient_is_timed_by_its_call(load_twice: Any) -> None:
    decoding = "jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, layer(c[1])), (0, x))[1]"
    source = SOURCE.replace("x = layer(x)", f"x = {decoding}")
    fold = f"return self.layers.fold_via(lambda layer, x: {decoding})(x)"
    both = load_twice(source, {LIST: STACK, LOOP.replace("layer(x)", decoding, 1): fold})
    result = timed_case("c", both.before.case, both.after.case, policies=("none",), abstract=False)
    for each in (result.original, result.policies[0].measured):
        assert each.step_seconds is None
        assert each.call_seconds is not None and each.call_seconds > 0


def test_a_loop_that_stays_is_the_same_program_and_not_timed(load_twice: Any) -> None:
    both = load_twice(SOURCE, {})
    result = timed_case("c", both.before.case, both.after.case, policies=("none", None), abstract=False)
    assert result.policies == () and result.original.step_seconds is None


def test_without_weights_nothing_is_run(load_twice: Any) -> None:
    both = load_twice(SOURCE, SCAN)
    result = timed_case("c", both.before.case, both.after.case, policies=("none",), abstract=True)
    assert result.original.step_seconds is None and result.policies[0].measured.step_seconds is None
    assert result.original.build_seconds is not None


def test_models_that_do_not_match_are_an_error(load_twice: Any) -> None:
    both = load_twice(SOURCE, {"self.layers = layers": "self.layers = layers[:2]"})
    with pytest.raises(ScanifyError, match="the models have different structures"):
        timed_case("c", both.before.case, both.after.case, policies=("none",), abstract=True)


def test_steps_take_turns_that_go_both_ways() -> None:
    """Each program is run as often as the others, and the order turns around."""
    ran: list[str] = []

    def program(name: str) -> measure.Compiled:
        def executable(own: Any, cotangents: Any) -> Any:
            ran.append(name)
            measure.time.sleep(measure._TURN)  # so that a turn is one run
            return jnp.zeros(())

        own = SimpleNamespace(own=lambda leaves: leaves)
        return measure.Compiled(own, measure.Measurement(), executable, ())  # type: ignore[arg-type]

    a, b = measure.step_seconds([program("a"), program("b")], [])
    assert min(a, b) >= measure._TURN
    assert ran == list("aabb" + "abbaabbaab")
