"""`scanify case` from outside: what it prints, writes and answers, whatever the model does."""

import subprocess
import sys
from pathlib import Path

import pytest

from scanify.cli import run
from scanify.errors import Exit
from tests.propose.helpers import HEAD

ROOT = Path(__file__).resolve().parents[2]

MODEL = (
    HEAD
    + """

class Tower(eqx.Module):
    layers: list[Block]

    def __init__(self, dim: int, depth: int, *, key: PRNGKeyArray):
        self.layers = [Block(dim, key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x: Float[Array, "dim"]) -> Float[Array, "dim"]:
        for layer in self.layers:
            x = layer(x)
        return x
"""
)
BUILDS = "        self.layers = ["


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "tower.py").write_text(MODEL)
    return tmp_path


def with_line(statement: str) -> str:
    """The model whose constructor runs `statement` first."""
    assert BUILDS in MODEL
    return MODEL.replace(f"{BUILDS}Block(dim, key=k)", f"        {statement}\n{BUILDS}Block(dim, key=k)")


def test_a_case_is_printed_and_verifies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["case", "tower.py"]) == Exit.OK
    printed = capsys.readouterr().out
    assert "model = module.Tower(dim=dim, depth=depth, key=jax.random.key(0))" in printed
    (folder / "cases.py").write_text(printed)
    arguments = ["verify", "tower.py", "--case", "cases.py:tower", "--remat", "full", "--no-measure"]
    assert run(arguments) == Exit.OK


class TestOutput:
    @pytest.mark.whole
    def test_it_is_written_and_not_overwritten(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["case", "tower.py", "-o", "cases.py"]) == Exit.OK
        told = capsys.readouterr().err
        assert "scanify: wrote cases.py:tower\n" in told and "--case cases.py:tower --diff" in told
        text = (folder / "cases.py").read_text()
        (folder / "cases.py").write_text("mine")
        assert run(["case", "tower.py", "-o", "cases.py"]) == Exit.USAGE
        assert "cases.py exists; give --force to overwrite it" in capsys.readouterr().err
        assert (folder / "cases.py").read_text() == "mine"
        assert run(["case", "tower.py", "-o", "cases.py", "--force"]) == Exit.OK
        assert (folder / "cases.py").read_text() == text

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["gone.py"], "which does not exist"),
            (["-"], "a model on standard input cannot be imported"),
            (["tower.py", "--force"], "--force goes with --output"),
            (["tower.py", "-o", "cases.txt"], "expected a Python file (.py) for --output"),
            (["tower.py", "-o", "gone/cases.py"], "in a folder that exists"),
            (["tower.py", "-o", "tower.py", "--force"], "to be a file of its own"),
            (["tower.py", "--class", "Gone"], "has no class 'Gone'; it has Block, Tower"),
            (["tower.py", "--memory-limit", "lots"], "a memory limit is a number with a unit"),
        ],
    )
    def test_usage(self, folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["case", *arguments]) == Exit.USAGE
        assert message in capsys.readouterr().err


class TestNothingToPropose:
    def test_a_file_without_a_loop(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "plain.py").write_text("x = 1\n")
        assert run(["case", "plain.py"]) == Exit.FINDINGS
        assert "no layer loop of plain.py would be rewritten (it has none)" in capsys.readouterr().err

    @pytest.mark.whole
    def test_a_parameter_that_nobody_knows(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "tower.py").write_text(MODEL.replace("depth: int,", "depth: int, tokenizer: 'Tokenizer',"))
        assert run(["case", "tower.py", "-o", "cases.py"]) == Exit.FINDINGS
        assert (
            "no case for Tower: could not build Tower: parameter `tokenizer` of Tower has no default and type "
            "Tokenizer is not known; write a case\n"
            "scanify: wrote cases.py:tower\nscanify: put values for `...` in tower, then: scanify rewrite tower.py "
            "--case cases.py:tower --diff\n"
        ) in capsys.readouterr().err
        text = (folder / "cases.py").read_text()
        assert "        tokenizer=...,  # 'Tokenizer'\n" in text and "        ...,  # x: Float[Array, 'dim']" in text
        arguments = ["rewrite", "tower.py", "--case", "cases.py:tower"]
        assert run(arguments) == Exit.VERIFICATION and "for layer in" in (folder / "tower.py").read_text()

    @pytest.mark.whole
    def test_a_file_that_does_not_import(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "tower.py").write_text("import nothing_of_the_kind\n" + MODEL)
        assert run(["case", "tower.py", "-o", "cases.py"]) == Exit.FINDINGS
        error = capsys.readouterr().err
        assert "No module named 'nothing_of_the_kind'" in error and "install what it misses, then ask again" in error
        assert not (folder / "cases.py").exists()  # so that the same command can be given again


class TestMisbehaviour:
    @pytest.mark.whole
    def test_what_it_prints_is_not_in_the_case(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "tower.py").write_text('print("hello", flush=True)\n' + with_line('print("building")'))
        assert run(["case", "tower.py"]) == Exit.OK
        out = capsys.readouterr().out
        assert "hello" not in out and "building" not in out and "def tower(" in out

    @pytest.mark.whole
    def test_it_hangs(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "tower.py").write_text(f"while True: pass\n{MODEL}")
        assert run(["case", "tower.py", "--time-limit", "1"]) == Exit.FINDINGS
        assert "stopped: no case was found within 1 s" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("statement", "said"),
        [
            ("import sys; sys.exit(5)", "could not build Tower: it calls sys.exit"),
            ("import os; os._exit(5)", "its process ended (exit code 5) before a case was found"),
            ("import os; print('bye', flush=True); os._exit(5)", "before a case was found\n    bye"),
        ],
    )
    def test_it_ends(self, folder: Path, statement: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "tower.py").write_text(with_line(statement))
        assert run(["case", "tower.py"]) == Exit.FINDINGS
        assert said in capsys.readouterr().err


def test_only_the_child_imports_jax(folder: Path) -> None:
    code = (
        "import sys\nfrom scanify.cli import run\nassert run(['case', 'tower.py', '-o', 'cases.py']) == 0\n"
        "import scanify.propose.propose\nassert not {'jax', 'numpy', 'equinox'} & sys.modules.keys()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
