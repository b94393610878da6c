"""An unsafe fix is written after verification only where a case has run the loop it is about."""

from pathlib import Path

import pytest

from scanify.cli import run as scanify
from scanify.commands.recorded.evidence import shown_by_cases
from scanify.commands.verifying.options import Running, choose_run
from scanify.configuration.config import Config
from scanify.errors import Exit
from scanify.pipeline import Project, rewrite_sources
from tests.command import Tool
from tests.test_cli_rewrite_recorded import MODEL as OPEN

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
    reached, unlike = shown_by_cases(held, project, run)
    assert {place.span.line for place in reached} == lines
    assert not unlike


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


class TestOpenLoops:
    """Loops whose layers the source leaves open are decided by what a case builds."""

    CASES = """\
import equinox as eqx
import jax
import jax.numpy as jnp


def chain(module):
    keys = jax.random.split(jax.random.key(0), 4)
    return module.Chain(*[eqx.nn.Linear(4, 4, key=key) for key in keys]), (jnp.ones(4),)


def sizes(module):
    return module.Sizes([4, 5, 6, 7], jax.random.key(0)), (jnp.ones(4),)


"""

    @pytest.fixture
    def tool(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
        tool = Tool(tmp_path, capsys, monkeypatch)
        tool.write("pyproject.toml", "")
        tool.write("model.py", OPEN)
        tool.write("cases.py", self.CASES)
        return tool

    def test_the_loop_that_the_case_runs_is_rewritten(self, tool: Tool) -> None:
        assert tool("rewrite", "model.py", "--case", "cases.py:chain").code == Exit.OK
        chain, sizes = (tool.folder / "model.py").read_text().split("class Sizes")
        assert "BlockSeq.of(self.layers" in chain
        assert sizes == OPEN.split("class Sizes")[1]

    def test_a_verification_compares_it(self, tool: Tool) -> None:
        done = tool("verify", "model.py", "--case", "cases.py:chain", "--remat", "full", "--no-measure")
        assert done.code == Exit.OK
        assert "PROVED" in done.out

    def test_unlike_layers_are_named_with_their_values(self, tool: Tool) -> None:
        cases = ["--case", "cases.py:sizes", "--case", "cases.py:chain"]
        done = tool("rewrite", "model.py", *cases)
        assert done.code == Exit.OK
        text = (tool.folder / "model.py").read_text()
        assert "BlockSeq.of(self.layers" in text
        assert text.split("class Sizes")[1] == OPEN.split("class Sizes")[1]
        assert "of its layers no two are alike in the run: 3 layers: Linear (a) + Linear (b) + Linear (c)" in done.err

    def test_a_case_that_cannot_be_run_is_reported(self, tool: Tool) -> None:
        tool.write("cases.py", "def chain(module):\n    raise RuntimeError('no')\n")
        assert tool("verify", "model.py", "--case", "cases.py:chain", "--no-measure").code == Exit.VERIFICATION


class TestLoopsThatScanNothing:
    """The carry of one loop changes its shape, so nothing of it is scanned; another case scans another loop."""

    POOLED = """

class Pooled(eqx.Module):
    layers: list[Block]

    def __init__(self, sizes, *, key):
        self.layers = [Block(eqx.nn.Linear(size, size, key=key)) for size in sizes]

    def __call__(self, x):
        for layer in self.layers:
            x = jax.vmap(layer)(x)
            x = x.reshape(-1, 2, 8).mean(axis=1)
        return x
"""
    CASE = """

def pooled(module):
    return module.Pooled([8, 8, 8], key=jax.random.key(0)), (jnp.arange(64.0).reshape(8, 8),)
"""

    @pytest.fixture(autouse=True)
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / ".git").mkdir()
        (tmp_path / "model.py").write_text(MODEL + self.POOLED)
        (tmp_path / "cases.py").write_text(CASES + self.CASE)

    def test_such_a_loop_is_held_back_and_the_other_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cases = ["--case", "cases.py:forward", "--case", "cases.py:pooled"]
        assert scanify(["rewrite", "model.py", *cases, "--remat", "none"]) == Exit.FINDINGS
        text, said = (tmp_path / "model.py").read_text(), " ".join(capsys.readouterr().err.split())
        assert self.POOLED.strip() in text and "self.layers.fold" in text
        assert "a case runs 3 iterations of this loop, but scans nothing" in said

    def test_alone_such_a_case_verifies_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert scanify(["rewrite", "model.py", "--case", "cases.py:pooled"]) == Exit.VERIFICATION
        assert "nothing is scanned in the rewritten version" in " ".join(capsys.readouterr().err.split())
        assert (tmp_path / "model.py").read_text() == MODEL + self.POOLED
