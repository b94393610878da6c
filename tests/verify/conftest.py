"""Two versions of one module, loaded the way a verification loads them: twice, under one name."""

import textwrap
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest


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
