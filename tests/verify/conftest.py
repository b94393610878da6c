"""Two versions of one module, loaded the way a verification loads them: twice, under one name."""

import sys
import textwrap
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from scanify.verify.cache import consulted
from scanify.verify.compare.compare import compare_case
from scanify.verify.verdict import CaseResult
from tests.verify.loop_model import POLICIES, SOURCE, case


@pytest.fixture
def nothing_reads_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not imported a library that opens files by itself: haliax has imported safetensors."""
    for name in consulted._BY_THEMSELVES:
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def load_twice() -> Callable[[str, dict[str, str]], SimpleNamespace]:
    """`load_twice(source, {"old": "new"})`: the source as it is, and with replacements, each of which must apply."""

    def load(source: str, changes: dict[str, str]) -> SimpleNamespace:
        source = textwrap.dedent(source)
        rewritten = source
        for old, new in changes.items():
            assert old in rewritten, f"nothing to replace: {old}"
            rewritten = rewritten.replace(old, new)
        return SimpleNamespace(before=_module(source), after=_module(rewritten))

    return load


def _module(source: str) -> ModuleType:
    module = ModuleType("model_under_test")
    exec(compile(source, "model_under_test.py", "exec"), vars(module))
    return module


@pytest.fixture
def compare(load_twice: Callable[[str, dict[str, str]], SimpleNamespace]) -> Callable[..., CaseResult]:
    """`compare({"old": "new"})`: the model of `loop_model` as it is, and with replacements.

    Options are those of `loop_model.case` and `compare_case`, and another `source`.
    """

    def run(changes: dict[str, str], **options: Any) -> CaseResult:
        chosen = {"policies": POLICIES, "requested": "nested", "abstract": False, "measure": False} | options
        built = {name: chosen.pop(name) for name in ("dropout", "key", "arrays") if name in chosen}
        two = load_twice(chosen.pop("source", SOURCE), changes)
        return compare_case("case", case(two.before, **built), case(two.after, **built), **chosen)

    return run
