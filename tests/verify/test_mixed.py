"""A version that runs the code of the other one is found: it would be proved equal to itself."""

import calendar
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.child import run_case
from scanify.verify.request import Change, Request
from scanify.verify.verdict import CaseResult

# `calendar` stands for a library with a registry: it is loaded once, and knows both versions by one name.
MODEL = """
import calendar

import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import ArrayStacked


class Block(eqx.Module):
    w: jax.Array

    def __call__(self, x):
        return jnp.sin(x * self.w)


REGISTER


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self):
        self.layers = [calendar.found["block"](jnp.full(3, i + 1.0)) for i in range(3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
LIST = 'self.layers = [calendar.found["block"](jnp.full(3, i + 1.0)) for i in range(3)]'
LOOP = "        for layer in self.layers:\n            x = layer(x)\n        return x\n"
STACK = "self.layers = ArrayStacked.of([calendar.found['block'](jnp.full(3, i + 1.0)) for i in range(3)])"
FOLD = "        return self.layers.fold(x)\n"
CASES = """
import jax.numpy as jnp

def model(module):
    return module.Model(), (jnp.ones(3),)
"""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(calendar, "found", {}, raising=False)
    yield


def compared(folder: Path, register: str) -> CaseResult:
    model = folder / "mixed_model.py"
    original = MODEL.replace("REGISTER", textwrap.dedent(register))
    rewritten = original.replace(LIST, STACK).replace(LOOP, FOLD)
    assert rewritten.count("ArrayStacked") == 2 and "fold(x)" in rewritten
    model.write_text(original)
    (folder / "mixed_cases.py").write_text(CASES)
    change = Change(model, original.encode(), rewritten.encode())
    (result,) = run_case(
        Request(
            case=CaseSpec(folder / "mixed_cases.py", "model", "mixed_cases.py:model"),
            target=model,
            changes=(change,),
            policies=("none",),
            requested=None,
            abstract=False,
            measure=False,
            directory=folder,
            comparer="scanify.verify.compare.compare:compare_case",
        )
    )
    return result


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("register", "ran", "other"),
    [
        ('calendar.found["block"] = Block', "original", "rewritten"),
        ('calendar.found.setdefault("block", Block)', "rewritten", "original"),
    ],
    ids=["the second takes the place of the first", "the first stays"],
)
def test_a_registry_outside_of_the_project_is_found(tmp_path: Path, register: str, ran: str, other: str) -> None:
    result = compared(tmp_path, register)
    assert result.error is not None
    assert f"the {ran} model ran code of the {other} mixed_model.py" in result.error


@pytest.mark.usefixtures("library")
def test_versions_that_keep_apart_are_compared(tmp_path: Path) -> None:
    result = compared(tmp_path, 'calendar = type("Own", (), {"found": {"block": Block}})')
    assert result.error is None and result.good
