"""Check out a git revision into a temporary folder, so that its code finds its own data files."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.source.git import commit_of, git, top_of

# Generated folders, whose contents follow from the sources and are not part of a project.
_MADE = frozenset({"__pycache__", ".scanify_cache", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".git"})
_LINK_TO_COMMIT = b"160000"


@contextmanager
def tree_of(revision: str, folder: Path) -> Iterator[Path]:
    """Yield a temporary folder with every file of `revision` of the repository at `folder`.

    Files ignored by git, such as downloaded weights, are in no revision: the folder links to the existing ones. Nothing
    is written to the repository. Raises ScanifyError if git cannot write the files.
    """
    top = top_of(folder)
    commit = commit_of(revision, top)
    with tempfile.TemporaryDirectory(prefix="scanify-revision-") as made:
        # Named like the repository, since code may depend on that.
        tree = Path(os.path.realpath(made)) / (top.name or "revision")
        tree.mkdir()
        _write(commit, top, tree, Path(made) / "index")
        _link_submodules(commit, top, tree)
        _link_ignored(top, tree)
        (tree / ".git").touch()  # marks the root of a project
        yield tree


def _write(commit: str, top: Path, tree: Path, index: Path) -> None:
    """Write the files with checkout-index: `git archive` applies export rules of `.gitattributes`."""
    own = {"GIT_INDEX_FILE": str(index)}
    git(["read-tree", commit], top, environment=own)
    git(["checkout-index", "--all", "--force", f"--prefix={tree}{os.sep}"], top, environment=own)


def _link_submodules(commit: str, top: Path, tree: Path) -> None:
    listed = git(["ls-tree", "-r", "-z", "--full-tree", commit], top).split(b"\0")
    for line in listed:
        head, _, name = line.partition(b"\t")
        if not head.startswith(_LINK_TO_COMMIT):
            continue
        place = os.fsdecode(name)
        if git(["diff", "--name-only", commit, "--", place], top).strip():
            raise ScanifyError(
                f"the submodule {place} is at another commit in {commit[:12]}, whose files are not here; check out "
                "both versions, and give their files with --before and --after"
            )
        if (top / place).is_dir():
            shutil.rmtree(tree / place, ignore_errors=True)
            (tree / place).parent.mkdir(parents=True, exist_ok=True)
            (tree / place).symlink_to(top / place)


def _link_ignored(top: Path, tree: Path) -> None:
    arguments = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    for name in git(arguments, top).split(b"\0"):
        place = Path(os.fsdecode(name.rstrip(b"/")))
        if not name or _MADE.intersection(place.parts) or place.suffix == ".pyc":
            continue
        if not (tree / place).exists() and (tree / place.parent).is_dir():
            (tree / place).symlink_to(top / place)


def files_differing(revision: str, folder: Path) -> tuple[Path, ...]:
    """Return the files other than Python's that differ between `revision` and the working tree.

    New files are included, except in cache folders of Python, pytest or scanify: their contents follow from the
    sources, and a project without a `.gitignore` has such folders after its first import.
    """
    top = top_of(folder)
    differing = git(["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit_of(revision, top)], top)
    new = git(["ls-files", "-z", "--others", "--exclude-standard"], top)
    names = sorted({os.fsdecode(name) for name in (differing + new).split(b"\0") if name})
    return tuple(top / name for name in names if not name.endswith(".py") and not _MADE & set(Path(name).parts[:-1]))
