"""A report of `check` is kept, and holds as long as every file that it depends on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from scanify.cli import run
from scanify.commands import check
from scanify.pipeline import Project
from tests.test_project import BLOCK, GROWS, MODEL, write

Check = Callable[..., tuple[int, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    write(tmp_path, block=BLOCK, model=MODEL, tools__other="x = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check, "WORTH_KEEPING", -1.0)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("SCANIFY_CACHE_DIR", raising=False)
    return tmp_path


@pytest.fixture
def checked(capsys: pytest.CaptureFixture[str], project: Path) -> Check:
    def answer(*arguments: str) -> tuple[int, str]:
        code = run(["check", *arguments])
        return code, capsys.readouterr().out

    return answer


@pytest.fixture
def analyses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one with each analysis."""
    made: list[str] = []
    original = Project.analyse

    def counted(self: Project, **options: object) -> object:
        made.append("analysed")
        return original(self, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Project, "analyse", counted)
    return made


def test_a_second_report_on_the_same_files_is_not_made_anew(checked: Check, analyses: list[str], project: Path) -> None:
    first = checked("model.py")
    assert first[0] == 1 and "self.layers" in first[1]
    assert checked("model.py") == first
    assert len(analyses) == 1
    assert (project / ".scanify_cache" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "arguments", [["."], ["model.py", "block.py"], ["model.py", "--format", "json"], ["model.py", "--stack", "call"]]
)
def test_another_question_has_its_own_report(checked: Check, analyses: list[str], arguments: list[str]) -> None:
    checked("model.py")
    checked(*arguments)
    assert len(analyses) == 2


def test_it_ends_with_a_change_of_any_file_of_the_project(checked: Check, analyses: list[str], project: Path) -> None:
    checked("model.py", "--format", "json")
    write(project, tools__other=GROWS)
    checked("model.py", "--format", "json")
    assert len(analyses) == 2
    write(project, tools__new="y = 1\n")
    checked("model.py", "--format", "json")
    assert len(analyses) == 3


def test_it_ends_with_a_change_of_an_ignored_file_that_is_imported(
    checked: Check, analyses: list[str], project: Path
) -> None:
    (project / ".gitignore").write_text("block.py\n")
    checked("model.py")
    checked("model.py")
    assert len(analyses) == 1
    write(project, block="from tools.other import Block\n")
    checked("model.py")
    assert len(analyses) == 2
    write(project, jax="# a module that was looked for, and was not there\n")
    checked("model.py")
    assert len(analyses) == 3


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"read": [], "text": "x"}', '{"read": 1, "text": "x", "code": 0}']
)
def test_a_broken_entry_is_none(checked: Check, analyses: list[str], project: Path, content: str) -> None:
    first = checked("model.py")
    (entry,) = (project / ".scanify_cache" / "check").glob("*.json")
    entry.write_text(content)
    assert checked("model.py") == first
    assert len(analyses) == 2
    assert json.loads(entry.read_text())["text"] == first[1]


def test_nothing_is_kept_where_it_must_not_be(
    checked: Check, analyses: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked("model.py", "--no-cache")
    monkeypatch.setenv("CI", "true")
    checked("model.py")
    assert not (project / ".scanify_cache").exists()
    monkeypatch.setenv("SCANIFY_CACHE_DIR", str(project / "elsewhere"))
    checked("model.py")
    checked("model.py")
    assert len(analyses) == 3
    assert any((project / "elsewhere" / "check").glob("*.json"))


def test_a_quick_report_is_not_worth_keeping(checked: Check, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "WORTH_KEEPING", 1e9)
    checked("model.py")
    assert not (project / ".scanify_cache").exists()
