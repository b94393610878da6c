"""The models of `fixtures/`: rewritten and unrolled they are the bytes that they were, by each target."""

from pathlib import Path

import pytest

from scanify.pipeline import Project, files_of, rewrite_sources
from scanify.unrolling.kept import Rewrite, keep
from scanify.unrolling.project import unroll_project
from tests.fixture_helpers import FIXTURES, Fixture


def rewritten(fixture: Fixture, folder: Path, target: str) -> dict[Path, str]:
    """Rewrite a fixture in a folder and keep that, as the command does; the texts before."""
    for name, text in fixture.before.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    project = Project.load([folder])
    stack = "call" if fixture.stack == "call" else None
    outcome = rewrite_sources(project, stack=stack, accept=lambda plan: True, target=target)
    keep(project.root, Rewrite(outcome.before, outcome.texts, stack, None, target), map(files_of, outcome.applied))
    for path, text in outcome.texts.items():
        path.write_text(text)
    return {path: text for path, text in outcome.before.items() if outcome.texts[path] != text}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("SCANIFY_CACHE_DIR", raising=False)
    return tmp_path


EACH = [
    pytest.param(fixture, target, marks=() if target == "scanify" or str(fixture) == "moe" else pytest.mark.whole)
    for fixture in FIXTURES
    for target in ("scanify", "lax", "haliax")
]


@pytest.mark.parametrize(("fixture", "target"), EACH, ids=str)
def test_rewritten_and_unrolled_it_is_what_it_was(fixture: Fixture, folder: Path, target: str) -> None:
    before = rewritten(fixture, folder, target)
    if target == "scanify":
        assert before
    unrolling = unroll_project(Project.load([folder]))
    assert dict(unrolling.texts) == before
    assert (unrolling.held, unrolling.left, unrolling.beyond) == ({}, (), ())


@pytest.mark.parametrize("name", ["gpt", "moe", "drop_path"])
def test_what_was_changed_since_stays(name: str, folder: Path) -> None:
    (fixture,) = (each for each in FIXTURES if str(each) == name)
    (path,) = before = rewritten(fixture, folder, "scanify")
    path.write_text(path.read_text().replace('"""', '"""Changed. ', 1) + "\n\nMORE = 1\n")
    unrolling = unroll_project(Project.load([folder]))
    assert unrolling.texts == {path: before[path].replace('"""', '"""Changed. ', 1) + "\n\nMORE = 1\n"}
    assert unrolling.restored == (path,)


def test_what_is_kept_is_not_believed_where_the_scan_was_changed(folder: Path) -> None:
    (fixture,) = (each for each in FIXTURES if str(each) == "moe")
    (path,) = rewritten(fixture, folder, "scanify")
    text = path.read_text()
    assert "self.blocks = ArrayStacked.of(make_blocks(config, key))\n" in text
    path.write_text(
        text.replace("x, aux_loss = block(x, aux_loss, mask)", "x, aux_loss = block(x, 2 * aux_loss, mask)")
    )
    unrolling = unroll_project(Project.load([folder]))
    assert unrolling.restored == ()
    assert "x, aux_loss = block(x, 2 * aux_loss, mask)" in unrolling.texts[path]
