"""What is proved is run, too, where that was asked for: a compiler may change what a program computes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.verify.compare import execute
from scanify.verify.compare.compare import compare_case
from scanify.verify.measure import measure
from scanify.verify.values.limited import allowing
from scanify.verify.verdict import CaseResult, Status

X = jnp.arange(3.0) + 0.5


class Model(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.tanh(self.w * x)


def compared(*, execute: bool, model: Callable[..., Any] = Model, **more: Any) -> CaseResult:
    case = lambda: (model(jnp.ones(3)), (X,))  # noqa: E731
    given: dict[str, Any] = {"policies": ["full", "none"], "requested": None, "abstract": False, "measure": False}
    return compare_case("case", case, case, execute=execute, **(given | more))


def statuses(result: CaseResult) -> set[tuple[Status, Status]]:
    return {(each.outputs.status, each.gradients.status) for each in result.policies}


def miscompiled(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any, Any], Any]) -> list[str]:
    """What is compiled of the rewritten version gives other numbers; the names of the versions that were compiled."""
    make, made = measure.compiled, list[str]()

    def wrong(program: Any, *given: Any) -> Any:
        found = make(program, *given)
        made.append(program.name)
        if program.name == made[0]:
            return found
        return replace(found, executable=lambda own, cotangents: change(*found.executable(own, cotangents)))

    monkeypatch.setattr(measure, "compiled", wrong)
    return made


def test_a_compiler_that_changes_an_output_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    miscompiled(monkeypatch, lambda outputs, grads: ([1.5 * x for x in outputs], grads))
    found = compared(execute=True)
    assert statuses(found) == {(Status.FAILED, Status.PROVED)}
    assert "compiled" in found.policies[0].outputs.reason


class Product(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.w @ x


def test_on_an_accelerator_products_are_compared_in_full_precision_and_measured_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There float32 is rounded to ten bits by default, by one compiled program and not by the other."""
    make, texts = measure.Executables.compiled, list[str]()

    def compiled(self: Any, lowered: Any, text: str) -> Any:
        texts.append(text)
        return make(self, lowered, text)

    monkeypatch.setattr(measure.Executables, "compiled", compiled)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    product = lambda w: Product(jnp.outer(w, w))  # noqa: E731
    found = compared(execute=True, model=product, measure=True)
    assert statuses(found) == {(Status.PROVED, Status.PROVED)}
    precisions = {("HIGHEST" in text, "DEFAULT" in text) for text in texts}
    assert precisions == {(True, False), (False, True)}
    texts.clear()
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    compared(execute=True, model=product, measure=True)
    assert not any("HIGHEST" in text for text in texts)


def test_a_compiler_that_changes_a_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    miscompiled(monkeypatch, lambda outputs, grads: (outputs, [*grads[:-1], grads[-1].at[1].mul(1.001)]))
    found = compared(execute=True)
    assert statuses(found) == {(Status.PROVED, Status.FAILED)}
    assert "the gradient of x[1]" in found.policies[0].gradients.reason


def test_a_program_that_cannot_be_run_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(outputs: Any, grads: Any) -> Any:
        raise RuntimeError("out of memory")

    miscompiled(monkeypatch, broken)
    found = compared(execute=True)
    assert statuses(found) == {(Status.FAILED, Status.FAILED)} and "out of memory" in found.policies[0].outputs.reason


def test_nothing_is_run_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = miscompiled(monkeypatch, lambda outputs, grads: (outputs, [1.5 * x for x in grads]))
    assert statuses(compared(execute=False)) == {(Status.PROVED, Status.PROVED)} and made == []


@pytest.mark.parametrize("measured", [False, True], ids=["executed", "measured too"])
def test_what_is_compiled_right_stays_proved_and_each_program_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch, measured: bool
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")  # elsewhere what is measured and what is executed differ
    made = miscompiled(monkeypatch, lambda outputs, grads: (outputs, grads))
    found = compared(execute=True, measure=measured)
    assert statuses(found) == {(Status.PROVED, Status.PROVED)}
    # The original; the rewritten version under both policies, and as it is written.
    assert len(made) == 4 and len(set(made)) == 2


class Rounded(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.round(self.w * x).astype(int)


class While(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda y: jnp.sum(y) < 9, lambda y: y * 2 + self.w, x)


class NotFinite(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.log(-jnp.abs(self.w * x) - 1)


def test_outputs_without_gradients_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (Rounded, While):
        with monkeypatch.context() as patch:
            miscompiled(patch, lambda outputs, grads: ([x + 1 for x in outputs], grads))
            assert {each for each, _ in statuses(compared(execute=True, model=model))} == {Status.FAILED}
        assert {each for each, _ in statuses(compared(execute=True, model=model))} == {Status.PROVED}


def test_numbers_that_are_none_show_nothing() -> None:
    assert statuses(compared(execute=True, model=NotFinite)) == {(Status.NOT_RUN, Status.PROVED)}


class Deep(eqx.Module):
    """Twelve layers in bfloat16, where loop and scan are compiled to other roundings."""

    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        for row in self.w:
            x = x + jnp.tanh(row @ (x / jnp.sqrt(jnp.mean(x * x))))
        return x


def in_bfloat16(w: jax.Array) -> Deep:
    return Deep((jax.random.normal(jax.random.key(0), (12, 3, 3)) * w[0]).astype(jnp.bfloat16))


def with_noise(size: float) -> Callable[[Any, Any], Any]:
    """Outputs that are further off than the tolerance, by this part of the largest."""
    return lambda outputs, grads: ([x.at[0].add((size * jnp.abs(x).max()).astype(x.dtype)) for x in outputs], grads)


def test_rounding_that_one_more_rounding_of_the_leaves_explains_is_no_fault_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    miscompiled(monkeypatch, with_noise(0.04))
    assert statuses(compared(execute=True, model=in_bfloat16)) == {(Status.PROVED, Status.PROVED)}


def test_without_that_noise_the_tolerance_is_that_of_values_that_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "WORSE", 0.0)
    miscompiled(monkeypatch, with_noise(0.04))
    found = compared(execute=True, model=in_bfloat16)
    assert statuses(found) == {(Status.FAILED, Status.PROVED)} and "tolerance 0.02" in found.policies[0].outputs.reason


@pytest.mark.parametrize(
    "change",
    [
        lambda outputs, grads: ([0.5 * x for x in outputs], grads),
        lambda outputs, grads: ([x.at[1].mul(0.5) for x in outputs], grads),
        lambda outputs, grads: ([-x for x in outputs], grads),
    ],
    ids=["half of it", "one element", "the sign"],
)
def test_coarse_dtypes_hide_no_change_that_rounding_does_not_explain(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Any, Any], Any]
) -> None:
    miscompiled(monkeypatch, change)
    assert statuses(compared(execute=True, model=in_bfloat16)) == {(Status.FAILED, Status.PROVED)}


def test_one_array_is_not_excused_by_the_rounding_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradients of the first layers round; that of what is added at the end does not."""

    class Added(Deep):
        b: jax.Array

        def __call__(self, x: jax.Array) -> jax.Array:
            return super().__call__(x) + self.b

    added = lambda w: Added(in_bfloat16(w).w, jnp.ones(3, jnp.bfloat16))  # noqa: E731
    miscompiled(monkeypatch, lambda outputs, grads: (outputs, [grads[0], grads[1] * 1.1, *grads[2:]]))
    found = compared(execute=True, model=added)
    assert statuses(found) == {(Status.PROVED, Status.FAILED)}
    assert "the gradient of b" in found.policies[0].gradients.reason


def test_what_rounding_alone_may_do_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "WORSE", 1e6)
    miscompiled(monkeypatch, with_noise(0.5))
    found = compared(execute=True, model=in_bfloat16)
    assert statuses(found) == {(Status.NOT_RUN, Status.PROVED)} and "rounding" in found.policies[0].outputs.reason


def test_a_loop_that_does_not_end_at_the_values_of_the_case_is_not_executed() -> None:
    class Endless(eqx.Module):
        w: jax.Array

        def __call__(self, x: jax.Array) -> jax.Array:
            return jax.lax.while_loop(lambda y: jnp.sum(y) < 9, lambda y: y * self.w, 0 * x)

    with allowing(1.0):
        found = compared(execute=True, model=Endless)
    assert {each for each, _ in statuses(found)} == {Status.NOT_RUN}
    assert "did not end within 1 s" in found.policies[0].outputs.reason


class Centred(eqx.Module):
    """The mean is taken away, so that the gradient of the shift is rounding alone."""

    w: jax.Array
    shift: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.tanh(self.apply(x))

    def apply(self, x: jax.Array) -> jax.Array:
        y = self.w[0] * jnp.linspace(0.0, 0.01, 4096).reshape(512, 8) * x[0] + self.shift
        return y - jnp.mean(y, 0)


class Shifted(Centred):
    """No other array than the shift has a gradient."""

    def apply(self, x: jax.Array) -> jax.Array:
        still = Centred(jax.lax.stop_gradient(self.w), self.shift)
        return still.apply(jax.lax.stop_gradient(x))


def centred(w: jax.Array) -> Centred:
    return Centred(w, jnp.ones(8))


def shift_changed(size: float) -> Callable[[Any, Any], Any]:
    return lambda outputs, grads: (outputs, [grads[0], grads[1] + size, *grads[2:]])


def test_a_gradient_that_is_rounding_alone_is_named_and_the_others_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        miscompiled(patch, shift_changed(4e-6))
        found = compared(execute=True, model=centred)
    assert statuses(found) == {(Status.PROVED, Status.PROVED)}
    assert "execution shows nothing of the gradient of shift" in found.policies[0].gradients.reason
    with monkeypatch.context() as patch:
        miscompiled(patch, shift_changed(1e-3))
        assert statuses(compared(execute=True, model=centred)) == {(Status.PROVED, Status.FAILED)}
    miscompiled(monkeypatch, lambda outputs, grads: (outputs, [grads[0] * 1.001, grads[1] + 4e-6, *grads[2:]]))
    assert statuses(compared(execute=True, model=centred)) == {(Status.PROVED, Status.FAILED)}


def test_gradients_that_are_all_rounding_alone_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    miscompiled(monkeypatch, shift_changed(2e-6))
    found = compared(execute=True, model=lambda w: Shifted(w, jnp.ones(8)))
    assert statuses(found) == {(Status.PROVED, Status.NOT_RUN)}
    assert "rounding alone changes the result" in found.policies[0].gradients.reason
