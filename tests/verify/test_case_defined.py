"""A case that its file does not define is told before anything is run, and none that is there is turned away."""

from pathlib import Path

import pytest

from scanify.cli import run
from scanify.errors import Exit
from scanify.verify.cases.defined import missing
from tests.command import MODEL

CASES = "import jax\n\n\ndef small(module):\n    ...\n\n\ndef _helper(): ...\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def gpt(module): ...", id="a function"),
        pytest.param("import x\nif x.y:\n    gpt = lambda module: None", id="a name that is bound in a branch"),
        pytest.param("from others import gpt", id="a name that is imported"),
        pytest.param("from others import *", id="what another file defines"),
        pytest.param("for name in ('gpt',):\n    globals()[name] = None", id="what is defined by its name"),
        pytest.param("def f():\n    global gpt\n    gpt = None\nf()", id="what a function defines"),
        pytest.param("class gpt: ...", id="a class"),
        pytest.param("def gpt(:", id="a file that cannot be parsed"),
        pytest.param("def __getattr__(name): ...", id="a file that answers for any name"),
    ],
)
def test_what_may_be_there_is_left_to_the_run(text: str, tmp_path: Path) -> None:
    (tmp_path / "cases.py").write_text(text)
    assert missing(tmp_path / "cases.py", "gpt") is None


@pytest.mark.parametrize("text", ["def small(module): ...", "def f():\n    gpt = 1\n", "class A:\n    gpt = 1\n", ""])
def test_what_is_not_there_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "cases.py").write_text(text)
    assert "cases.py has no function 'gpt'; it" in (missing(tmp_path / "cases.py", "gpt") or "")


@pytest.mark.parametrize(
    "command",
    [
        ["rewrite", "model.py"],
        ["rewrite", "model.py", "--diff"],
        ["rewrite", "looked_at.py"],
        ["unroll", "model.py"],
        ["verify", "model.py"],
        ["profile", "model.py"],
        ["reroll", "model.py", "--report"],
    ],
)
def test_every_command_says_which_cases_there_are(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    Path("looked_at.py").write_text(MODEL + "\n\ndef look(model: Model):\n    return jax.tree.leaves(model)\n")
    Path("cases.py").write_text(CASES)
    assert run([*command, "--case", "cases.py:nope"]) == Exit.USAGE
    assert capsys.readouterr().err == "scanify: cases.py:nope: cases.py has no function 'nope'; it has small\n"
    assert Path("model.py").read_text() == MODEL
