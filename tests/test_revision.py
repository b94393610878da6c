"""The whole tree of a revision, from real repositories."""

from pathlib import Path

import pytest

from scanify.errors import ScanifyError
from scanify.source.revision import files_differing, tree_of
from tests.test_git import Git, git  # noqa: F401  (a fixture)


@pytest.fixture
def repository(git: Git, tmp_path: Path) -> Path:  # noqa: F811
    (tmp_path / "sub").mkdir()
    files = {"model.py": "one", "sub/config.json": "1", "left_out.txt": "kept", "tool.sh": "#!/bin/sh"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "tool.sh").chmod(0o755)
    (tmp_path / "link.json").symlink_to("sub/config.json")
    (tmp_path / ".gitignore").write_text("weights/\n*.bin\n__pycache__\n")
    (tmp_path / ".gitattributes").write_text("left_out.txt export-ignore\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    return tmp_path


def test_every_file_is_there_as_it_was(repository: Path, git: Git) -> None:  # noqa: F811
    (repository / "sub/config.json").write_text("2")
    (repository / "model.py").unlink()
    (repository / "new.json").write_text("new")
    before = git("status", "--porcelain")
    with tree_of("HEAD", repository / "sub") as tree:
        assert (tree / "sub/config.json").read_text() == (tree / "link.json").read_text() == "1"
        assert (tree / "model.py").read_text() == "one" and (tree / "left_out.txt").read_text() == "kept"
        assert (tree / "tool.sh").stat().st_mode & 0o100 and not (tree / "new.json").exists()
        assert tree.name == repository.resolve().name
    assert not tree.exists() and git("status", "--porcelain") == before
    assert [path.name for path in files_differing("HEAD", repository)] == ["new.json", "config.json"]


def test_what_git_ignores_is_there_as_it_is_here(repository: Path) -> None:
    (repository / "weights").mkdir()
    (repository / "weights/w.npy").write_text("w")
    (repository / "sub/w.bin").write_text("b")
    (repository / "sub/__pycache__").mkdir()
    (repository / "sub/__pycache__/model.pyc").write_text("")
    with tree_of("HEAD", repository) as tree:
        assert (tree / "weights/w.npy").read_text() == "w" and (tree / "sub/w.bin").read_text() == "b"
        assert not (tree / "sub/__pycache__").exists()
    assert (repository / "weights/w.npy").read_text() == "w"


def test_a_submodule_is_there_unless_it_is_at_another_commit(
    repository: Path,
    git: Git,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    import shutil

    inner = tmp_path_factory.mktemp("inner")
    shutil.copytree(repository, inner / "part")
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner / "part"), "part")
    git("commit", "--quiet", "-m", "with a part")
    with tree_of("HEAD", repository) as tree:
        assert (tree / "part/sub/config.json").read_text() == "1"
    (repository / "part/model.py").write_text("two")
    git("-C", "part", "commit", "--quiet", "-am", "other")
    with pytest.raises(ScanifyError, match="the submodule part is at another commit"), tree_of("HEAD", repository):
        pass


def test_a_revision_that_is_not_there_is_named(repository: Path) -> None:
    with pytest.raises(ScanifyError, match="expected a revision of the git repository"), tree_of("gone", repository):
        pass


def test_what_running_leaves_behind_is_no_difference(repository: Path) -> None:
    (repository / ".gitignore").unlink()
    for name in ("__pycache__/model.cpython-313.pyc", "sub/.pytest_cache/v/nodeids", ".scanify_cache/a.json"):
        (repository / name).parent.mkdir(parents=True)
        (repository / name).write_text("made")
    (repository / "sub/data.pyc").write_text("a module without a source, which code may import")
    assert [path.name for path in files_differing("HEAD", repository)] == [".gitignore", "data.pyc"]
