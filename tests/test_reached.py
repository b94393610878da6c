"""An unsafe fix is written after verification only where a case has run the loop it is about."""

from pathlib import Path

import pytest

from scanify.cli import run as scanify
from scanify.commands.verifying.cases import reached_loops
from scanify.commands.verifying.options import Running, choose_run
from scanify.configuration.config import Config
from scanify.errors import Exit
from scanify.pipeline import Project, rewrite_sources

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, *, key):
        self.layers = [Block(eqx.nn.Linear(4, 4, key=k)) for k in jax.random.split(key, 3)]

    def __call__(self, x, act):
        for layer in self.layers:
            x = act(layer(x))
        return x

    def reversed(self, x, act):
        for layer in self.layers:
            x = layer(act(x))
        return x
"""
CASES = """\
import jax
import jax.numpy as jnp


def forward(module):
    return module.Model(key=jax.random.key(0)), (jnp.ones(4), jax.nn.relu)


def other_method(module):
    return module.Model(key=jax.random.key(0)).reversed, (jnp.ones(4), jax.nn.relu)


def raises(module):
    raise RuntimeError("no")
"""
FIRST, SECOND = 19, 24


@pytest.mark.parametrize(
    ("cases", "abstract", "lines"),
    [
        pytest.param(["forward"], False, {FIRST}, id="the loop of the method that the case calls"),
        pytest.param(["forward"], True, {FIRST}, id="without weights too"),
        pytest.param(["other_method"], False, {SECOND}, id="that of another method"),
        pytest.param(["forward", "other_method"], False, {FIRST, SECOND}, id="of several cases together"),
    ],
)
def test_a_case_reaches(cases: list[str], abstract: bool, lines: set[int], tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "cases.py").write_text(CASES)
    project = Project.load([tmp_path / "model.py"])
    held = rewrite_sources(project).held
    assert {plan.place.span.line for plan in held} == {FIRST, SECOND}
    names = tuple(f"{tmp_path / 'cases.py'}:{case}" for case in cases)
    run = choose_run(names, Config(tmp_path), Running(abstract=abstract))
    assert run is not None
    reached = reached_loops(held, project, run)
    assert {place.span.line for place in reached} == lines


def test_a_case_that_cannot_be_run_is_no_case_that_does_not_reach_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    Path("cases.py").write_text(CASES)
    assert scanify(["rewrite", "model.py", "--case", "cases.py:raises"]) == Exit.VERIFICATION
    said = capsys.readouterr().err
    assert "a case could not be run" in said and "RuntimeError: no" in said and "reaches this loop" not in said
    assert Path("model.py").read_text() == MODEL


class TestDepth:
    """Both loops run; the source does not show for how many layers, and the case gives one of them one."""

    TWO = (
        MODEL.replace("    layers: list[Block]\n", "    layers: list[Block]\n    tail: list[Block]\n")
        .replace("self, *, key", "self, depth, last, *, key")
        .replace(
            "key, 3)]\n",
            "key, depth)]\n        self.tail = [Block(eqx.nn.Linear(4, 4, key=key)) for _ in range(last)]\n",
        )
        .replace(
            "        return x\n\n",
            "        for layer in self.tail:\n            x = act(layer(x))\n        return x\n\n",
            1,
        )
    )

    def rewritten(self, folder: Path, sizes: str, monkeypatch: pytest.MonkeyPatch) -> int:
        monkeypatch.chdir(folder)
        (folder / ".git").mkdir()
        (folder / "model.py").write_text(self.TWO)
        (folder / "cases.py").write_text(CASES.replace("Model(", f"Model({sizes}, "))
        return scanify(["rewrite", "model.py", "--case", "cases.py:forward"])

    def test_the_loop_that_runs_once_is_held_back_and_the_other_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.rewritten(tmp_path, "3, 1", monkeypatch) == Exit.FINDINGS
        text, said = (tmp_path / "model.py").read_text(), capsys.readouterr().err
        assert "for layer in self.layers" not in text.partition("def reversed")[0] and "for layer in self.tail" in text
        assert "a case runs one iteration of this loop, which shows nothing of a scan" in said
        assert "another loop over its list" not in said
        assert "give a case whose model has two layers or more" in said and "held back" in said.splitlines()[-1]

    def test_where_all_run_once_nothing_is_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.rewritten(tmp_path, "1, 1", monkeypatch) == Exit.VERIFICATION
        assert (tmp_path / "model.py").read_text() == self.TWO
        assert "depth NOT RUN" in capsys.readouterr().err
