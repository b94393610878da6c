"""What is proved is run, too, where that was asked for: a compiler may change what a program computes."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.compare.compare import compare_case
from scanify.verify.values import checks
from scanify.verify.verdict import PolicyResult, Status

X = jnp.arange(3.0) + 0.5


class Model(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.tanh(self.w * x)


def compared(*, execute: bool) -> PolicyResult:
    case = lambda: (Model(jnp.ones(3)), (X,))  # noqa: E731
    given: dict[str, Any] = {"policies": ["full"], "requested": None, "abstract": False, "measure": False}
    return compare_case("case", case, case, execute=execute, **given).policies[0]


def miscompiled(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """Of the programs that are compiled for a check all but the first give other numbers; how many there were."""
    make, made = getattr(checks, name), [0]

    def wrong(*given: Any) -> Any:
        run, made[0] = make(*given), made[0] + 1
        return run if made[0] == 1 else lambda leaves: [np.asarray(x) * 1.5 for x in run(leaves)]

    monkeypatch.setattr(checks, name, wrong)
    return made


def test_a_compiler_that_changes_an_output_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = miscompiled(monkeypatch, "values")
    found = compared(execute=True)
    assert made == [2] and found.outputs.status is Status.FAILED
    assert "compiled" in found.outputs.reason


def test_a_compiler_that_changes_a_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    miscompiled(monkeypatch, "vjp")
    found = compared(execute=True)
    assert (found.outputs.status, found.gradients.status) == (Status.PROVED, Status.FAILED)


def test_nothing_is_run_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = miscompiled(monkeypatch, "values")
    assert compared(execute=False).outputs.status is Status.PROVED and made == [0]


def test_what_is_compiled_right_stays_proved() -> None:
    found = compared(execute=True)
    assert {found.outputs.status, found.gradients.status} == {Status.PROVED}
