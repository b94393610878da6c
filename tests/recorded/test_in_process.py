"""The other children of a command, in this process: which loops it runs, and its calls written as cases."""

from dataclasses import replace
from pathlib import Path

import pytest

from scanify.propose.recorded.child import _answer
from scanify.verify.children.child import run_case
from scanify.verify.request import REACHED
from tests.recorded.runs import request

PROGRAM = """
net(x, jax.random.key(1))
eqx.filter_jit(forward)(net, jnp.arange(4.0))
"""


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_loops_that_a_command_runs(tmp_path: Path) -> None:
    (result,) = run_case(request(tmp_path, PROGRAM, REACHED))
    assert result.error is None
    found = {loop.line: loop.iterations for loop in result.loops}
    assert found == {23: None, 27: 3, 33: 3, 39: None}
    assert next(loop.why for loop in result.loops if loop.line == 39) == "centred is never called"
    assert next(loop.layers.text for loop in result.loops if loop.layers is not None) == "3 layers: 3 x Block"


def test_the_calls_of_a_command_as_cases(tmp_path: Path) -> None:
    asked = replace(request(tmp_path, PROGRAM, REACHED))
    written = _answer(asked)
    texts = {name: case.text for name, case in zip(written.functions, written.cases, strict=True)}
    assert "model = module.Net(4, 3, key=jax.random.key(0))" in texts["Net.__call__"]
    assert "jax.random.key(1)" in texts["Net.__call__"]
    assert [each.cls for each in written.declined if each.cls == "centred"] == ["centred"]
