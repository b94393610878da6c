"""Find changes in a git repository since a revision, using the `git` command. Nothing is written."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from scanify.errors import ScanifyError


def changed_since(revision: str, folder: Path) -> dict[Path, tuple[bytes | None, bytes | None]]:
    """Return the Python files of the repository at `folder` that differ between `revision` and the working tree.

    Each comes with its old and new bytes, None if it does not exist. Untracked files are included, ignored files are
    not. A renamed file counts as one removed and one new file. Raises ScanifyError if git is not installed, or if the
    repository or the revision does not exist.
    """
    top = top_of(folder)
    commit = commit_of(revision, top)
    differing = git(["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "--", "*.py"], top)
    untracked = git(["ls-files", "-z", "--others", "--exclude-standard", "--", "*.py"], top)
    names = sorted({name for name in (differing + untracked).split(b"\0") if name})
    found = {}
    for name, before in zip(names, _blobs(commit, names, top), strict=True):
        path = top / os.fsdecode(name)
        after = path.read_bytes() if path.is_file() else None
        if before != after:
            found[path] = (before, after)
    return found


def top_of(folder: Path) -> Path:
    """Return the top folder of the repository that contains `folder`."""
    return Path(os.fsdecode(git(["rev-parse", "--show-toplevel"], folder).rstrip(b"\n")))


def commit_of(revision: str, top: Path) -> str:
    """Return the full hash of the commit named by `revision`."""
    try:
        return (
            git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], top)
            .decode()
            .strip()
        )
    except ScanifyError:
        raise ScanifyError(
            f"expected a revision of the git repository {top}, such as HEAD, main or a commit, got {revision!r}; "
            "`git fetch` it if it is that of another copy"
        ) from None


def _blobs(commit: str, names: Sequence[bytes], top: Path) -> list[bytes | None]:
    """Return the bytes of each file in `commit`, None if it does not exist there."""
    asked = b"".join(commit.encode() + b":" + name + b"\n" for name in names)
    answer = git(["cat-file", "--batch"], top, asked)
    found: list[bytes | None] = []
    for _ in names:
        head, _, answer = answer.partition(b"\n")
        fields = head.rsplit(b" ", 2)
        if head.endswith(b" missing") or len(fields) != 3 or fields[1] != b"blob":
            found.append(None)
            continue
        size = int(fields[2])
        found.append(answer[:size])
        answer = answer[size + 1 :]
    return found


def git(
    arguments: Sequence[str], folder: Path, given: bytes = b"", environment: Mapping[str, str] = MappingProxyType({})
) -> bytes:
    """Run `git` in `folder` with extra `environment` variables; return its output. Raises ScanifyError on failure."""
    # Without optional locks, since reading must not block a commit made at the same time.
    variables = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", **environment}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=variables, input=given, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise ScanifyError("expected the `git` command, which --against needs, on the PATH; install git") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise ScanifyError(f"git {arguments[0]} failed in {folder}: {said}")
    return done.stdout
