"""Calls that are remembered change no answer: it is the same where every call is run anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import test_calls_again
import test_closures

from scanify.analysis import analyse
from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.values.calls.functions.again import Begun
from scanify.source.file import Source
from tests.random_projects.compose import random_project

FIXTURES = Path(__file__).parents[2] / "fixtures"
SEEDS = range(20)


def decided(files: dict[str, str]) -> list[Plan | Refusal]:
    return list(analyse([Source(Path("/project") / name, text) for name, text in files.items()]).loops)


def projects() -> Iterator[tuple[str, dict[str, str]]]:
    for path in sorted(FIXTURES.glob("*/before.py")):
        yield path.parent.name, {"model.py": path.read_text()}
    for where, block in test_closures.REBOUND.items():
        yield f"a name bound anew {where}", {"model.py": test_closures.model(block)}
    for inner in ("inner", "Inner(k)"):
        yield f"a factory, {inner}", {"model.py": test_calls_again.factory(inner=inner)}
    for block in ("even(self.weight @ x, 4)", "x if self.index % 2 else self.weight @ x"):
        yield block, {"model.py": test_calls_again.PAIR % (block, "odd(layer(x), 3)")}
        yield f"{block}, twice", {"model.py": test_calls_again.PAIR % (block, "layer(x)")}
    for seed in SEEDS:
        yield f"random {seed}", dict(random_project(seed).files)


@pytest.mark.parametrize(("name", "files"), [pytest.param(name, files, id=name) for name, files in projects()])
def test_the_answer_is_that_of_a_run_that_remembers_nothing(name, files, monkeypatch):
    remembered = decided(files)
    monkeypatch.setattr(Begun, "ended", lambda *_, **__: None)
    assert decided(files) == remembered
    assert remembered or "random" in name
