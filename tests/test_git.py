"""What changed since a revision, from real repositories."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scanify.errors import ScanifyError
from scanify.source.git import changed_since

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git in a new repository, apart from the configuration of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def run(*arguments: str) -> str:
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    run("init", "--quiet", "--initial-branch", "main")
    return run


@pytest.fixture
def repository(git: Git, tmp_path: Path) -> Path:
    files = {"same.py": "same", "model.py": "one", "gone.py": "gone", "moved.py": "moved", "notes.md": "one"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("tag", "first")
    return tmp_path


def test_each_kind_of_change_has_the_bytes_of_both_versions(repository: Path, git: Git) -> None:
    (repository / "model.py").write_bytes(b"two\r\n\xff")
    (repository / "gone.py").unlink()
    git("mv", "moved.py", "new name \N{LATIN SMALL LETTER U WITH DIAERESIS}.py")
    (repository / "untracked").mkdir()
    (repository / "untracked/new.py").write_text("new")
    (repository / "ignored.py").write_text("ignored")
    (repository / "notes.md").write_text("two")
    found = changed_since("HEAD", repository)
    assert {path.relative_to(repository.resolve()).as_posix(): texts for path, texts in found.items()} == {
        "model.py": (b"one", b"two\r\n\xff"),
        "gone.py": (b"gone", None),
        "moved.py": (b"moved", None),
        "new name \N{LATIN SMALL LETTER U WITH DIAERESIS}.py": (None, b"moved"),
        "untracked/new.py": (None, b"new"),
    }


def test_an_older_revision_is_compared_with_the_working_tree_and_not_with_the_last_commit(
    repository: Path, git: Git
) -> None:
    (repository / "model.py").write_text("two")
    git("commit", "--quiet", "-am", "second")
    (repository / "model.py").write_text("three")
    assert set(changed_since("first", repository).values()) == {(b"one", b"three")}
    assert set(changed_since("main", repository).values()) == {(b"two", b"three")}


def test_a_subfolder_speaks_for_the_whole_repository(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "model.py").write_text("two")
    assert list(changed_since("HEAD", repository / "sub")) == [repository.resolve() / "model.py"]


def test_looking_changes_nothing(repository: Path) -> None:
    (repository / "model.py").write_text("two")

    def state() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(repository.rglob("*")) if path.is_file()}

    before = state()
    changed_since("HEAD", repository)
    assert state() == before


@pytest.mark.parametrize("revision", ["nowhere", "--all", "HEAD:model.py", ""])
def test_a_revision_that_does_not_exist_is_named(repository: Path, revision: str) -> None:
    with pytest.raises(ScanifyError, match="expected a revision of the git repository") as raised:
        changed_since(revision, repository)
    assert repr(revision) in str(raised.value)


def test_without_a_repository_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ScanifyError, match="not a git repository"):
        changed_since("HEAD", tmp_path)


def test_without_git_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ScanifyError, match="install git"):
        changed_since("HEAD", tmp_path)
