"""The project is always the whole project: what is named says what is reported and changed, never what is known."""

import io
import json
import sys
from pathlib import Path

import pytest

from scanify.analysis.plan import Plan
from scanify.cli import run
from scanify.pipeline import Project
from scanify.source.discover import Selection, walk
from scanify.source.root import project_root

BLOCK = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
        return x + self.linear(x)
"""
MODEL = """\
import equinox as eqx
import jax

from block import Block


class Model(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 4)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
GROWS = "def grow(model, block):\n    return model.layers + [block] if isinstance(model.layers, list) else None\n"
WALKS = """\
def decode(model, x):
    for layer in model.layers:
        x = layer(x)
    return x
"""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/").replace("/init", "/__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    run(["check", "--format", "json", *arguments])
    return json.loads(capsys.readouterr().out)["loops"]


def stacks(*names: str, exclude: tuple[str, ...] = ()) -> list[str]:
    """Where the lists of the loops in some files are stacked."""
    found = Project.load(map(Path, names), selection=Selection(Path.cwd(), exclude)).analyse().loops
    assert all(isinstance(loop, Plan) for loop in found)
    return [type(loop.stack).__name__ for loop in found if isinstance(loop, Plan)]


class TestRoot:
    def test_it_is_the_nearest_folder_with_a_mark(self, tmp_path: Path) -> None:
        write(tmp_path, a__b__c__m="", a__x="")
        (tmp_path / "a" / "setup.cfg").write_text("")
        (tmp_path / ".git").mkdir()
        assert project_root([tmp_path / "a" / "b" / "c" / "m.py"]) == tmp_path / "a"
        assert project_root([tmp_path / "a" / "b", tmp_path / "a" / "x.py"]) == tmp_path / "a"
        assert project_root([tmp_path / "z.py", tmp_path / "a"]) == tmp_path

    def test_without_a_mark_it_is_above_the_package(self, tmp_path: Path) -> None:
        write(tmp_path, pkg__init="", pkg__nn__init="", pkg__nn__m="", scripts__s="")
        assert project_root([tmp_path / "pkg" / "nn" / "m.py"]) == tmp_path
        assert project_root([tmp_path / "scripts" / "s.py"]) == tmp_path / "scripts"


class TestKnown:
    def test_a_file_that_nothing_marks_as_part_of_a_project_is_known_with_its_package_and_imports(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write(tmp_path, block=BLOCK, model=MODEL, other__tool=GROWS, neighbour=GROWS)
        project = Project.load([Path("model.py")])
        assert [source.path.name for source in project.every()] == ["model.py", "block.py"]
        assert stacks("model.py") == ["InitStack"]
        write(tmp_path, neighbour="import model\n\n\n" + GROWS)
        assert stacks("model.py") == ["CallStack"]
        write(
            tmp_path, pkg__init="", pkg__block=BLOCK, pkg__deep__model=MODEL.replace("block import", "pkg.block import")
        )
        write(tmp_path, pkg__deep__init="", apart=GROWS, pkg__use="", neighbour="")
        every = Project.load([tmp_path / "pkg" / "deep" / "model.py"]).every()
        assert {source.path.name for source in every} == {"__init__.py", "model.py", "block.py", "use.py"}
        assert {source.path.is_relative_to(tmp_path / "pkg") for source in every} == {True}

    def test_files_that_an_import_reaches_are_known_wherever_they_are(self, project: Path) -> None:
        (project / ".git").mkdir()
        (project / ".gitignore").write_text("scratch/\n")
        for holder in ("scratch", "build", "old"):
            write(project, block=BLOCK, model=f"import {holder}.tool\n" + MODEL, **{f"{holder}__tool": GROWS})
            assert stacks("model.py", exclude=("old",)) == ["CallStack"]
            write(project, model="try:\n    from util import tool\nexcept ImportError:\n    tool = None\n" + MODEL)
            write(project, util=f"from {holder} import tool\n")
            assert stacks("model.py", exclude=("old",)) == ["CallStack"]
            write(project, util="")
            assert stacks("model.py", exclude=("old",)) == ["CallStack" if holder == "old" else "InitStack"]
        assert {path.name for path in walk(project, Selection(project, ("old",)))} == {
            "block.py",
            "model.py",
            "util.py",
        }

    @pytest.mark.parametrize("name", ["tool.pyw", "bin/tool", "tool"])
    def test_scripts_are_known_whatever_they_are_called(self, project: Path, name: str) -> None:
        write(project, block=BLOCK, model=MODEL)
        (project / "bin").mkdir()
        (project / "bin" / "other").write_text("#!/bin/sh\necho model.layers\n")
        (project / name).write_text("#!/usr/bin/env python3\n" + GROWS)
        assert stacks("model.py") == ["CallStack"]
        assert name in [str(path.relative_to(project)) for path in walk(project, Selection(project))]

    @pytest.mark.parametrize("other", [GROWS, WALKS, "x = 1\n"])
    def test_a_file_has_the_rows_that_it_has_in_the_folder(
        self, project: Path, capsys: pytest.CaptureFixture[str], other: str
    ) -> None:
        write(
            project,
            block=BLOCK,
            model=MODEL,
            tools__other=other,
            tools__number=WALKS.replace("layer in", "i, layer in"),
        )
        everything = rows(capsys, ".")
        assert everything
        for name in ("model.py", "tools/other.py", "block.py", "tools"):
            expected = [row for row in everything if str(row["path"]).startswith(name)]
            assert rows(capsys, name) == expected

    def test_a_neighbour_that_needs_the_list_is_known(self, project: Path) -> None:
        write(project, block=BLOCK, model=MODEL)
        assert stacks("model.py") == ["InitStack"]
        write(project, tools__other=GROWS)
        assert stacks("model.py") == ["CallStack"]

    def test_standard_input_with_a_name_is_that_file_of_the_project(
        self, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(project, block=BLOCK, model="old = 1\n", tools__other=GROWS)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MODEL.encode())))
        piped = rows(capsys, "-", "--stdin-filename", "model.py")
        write(project, model=MODEL)
        assert piped == rows(capsys, "model.py") != []

    def test_what_is_excluded_is_still_known(self, project: Path) -> None:
        write(project, block=BLOCK, model=MODEL, tools__other=GROWS)
        assert stacks(".", exclude=("tools",)) == ["CallStack"]

    def test_a_virtual_environment_is_no_part_of_it(self, project: Path) -> None:
        write(project, block=BLOCK, model=MODEL, env__lib__other=GROWS, site__other="x = 1\n")
        (project / "env" / "pyvenv.cfg").write_text("")
        (project / "site").rename(project / "site-packages")
        assert stacks("model.py") == ["InitStack"]
        assert [path.name for path in walk(project, Selection(project))] == ["block.py", "model.py"]


class TestChanged:
    def test_files_that_were_not_named_stay_as_they_are(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        decode = "from model import Model\n\n\n" + WALKS.replace("model,", "model: Model,")
        write(project, block=BLOCK, model=MODEL, decode=decode)
        before = {path: path.read_text() for path in project.glob("*.py")}
        assert stacks("decode.py") == ["InitStack"]
        assert run(["rewrite", "decode.py"]) == 0
        assert {path: path.read_text() for path in project.glob("*.py")} == before
        err = capsys.readouterr().err
        assert "can be rewritten together with model.py" in err and "1 loop waiting for other files" in err
        assert run(["rewrite", "decode.py", "model.py"]) == 0
        assert "ArrayStacked" in (project / "model.py").read_text()


class TestSelected:
    def test_what_is_excluded_is_left_alone_even_if_it_is_named(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (project / "pyproject.toml").write_text("[tool.scanify]\nexclude = ['old']\n")
        write(project, block=BLOCK, old__model=MODEL)
        assert run(["check", "old/model.py"]) == 0
        assert "old/model.py is left out by 'old' in `exclude`" in capsys.readouterr().err
        assert run(["check", "."]) == 0
        assert run(["check", "old/model.py", "--no-exclude"]) == 1
        assert run(["check", ".", "--no-exclude"]) == 1

    def test_what_git_ignores_is_passed_over(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (project / ".git").mkdir()
        (project / ".gitignore").write_text("# made\n\n/made/\n*_pb2.py\n!kept_pb2.py\n")
        write(project, block=BLOCK, made__m=MODEL, a_pb2=MODEL, kept_pb2=MODEL, sub__deep__m=MODEL, sub__made__m=MODEL)
        (project / "sub" / ".gitignore").write_text("deep\n")
        paths = {str(row["path"]) for row in rows(capsys, ".")}
        assert paths == {"kept_pb2.py", "sub/made/m.py"}
        assert len(rows(capsys, ".", "--no-gitignore")) == 5
        assert len(rows(capsys, "sub/deep/m.py")) == 1  # a file that is named is meant
        assert len(rows(capsys, "made")) == 1

    def test_rules_above_the_project_hold_and_those_outside_of_the_repository_do_not(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".gitignore").write_text("*.py\n")
        repository = tmp_path / "repository"
        write(repository / "part", block=BLOCK, model=MODEL, made=MODEL)
        (repository / ".git").mkdir()
        (repository / ".gitignore").write_text("part/made.py\n")
        (repository / "part" / "pyproject.toml").write_text("")
        monkeypatch.chdir(repository / "part")
        assert {row["path"] for row in rows(capsys, ".")} == {"model.py"}
