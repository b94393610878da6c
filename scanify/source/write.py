"""Write files all together or not at all, each one atomically."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from scanify.errors import ScanifyError


def write_all(changes: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Replace the content of each path, `(expected, new)`; mode bits are kept and symbolic links are followed.

    Raises ScanifyError, with every file as it was, where one of them is read-only, has changed since it was read, or
    cannot be written.
    """
    targets = {path: path.resolve() for path in changes}
    prepared: dict[Path, Path] = {}
    replaced: list[Path] = []
    try:
        for path, (expected, new) in changes.items():
            _demand_writable(path, targets[path])
            _demand_unchanged(path, targets[path], expected)
            prepared[path] = _prepare(path, targets[path], new)
        for path, (expected, _) in changes.items():
            _demand_unchanged(path, targets[path], expected)
            prepared[path].replace(targets[path])
            replaced.append(path)
    except BaseException as error:
        for path in replaced:
            _prepare(path, targets[path], changes[path][0]).replace(targets[path])
        if isinstance(error, OSError):
            name = error.filename or next(iter(changes))
            raise ScanifyError(f"{name}: cannot be written: {error.strerror}; no file was changed") from None
        raise
    finally:
        for temporary in prepared.values():
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


def _demand_writable(path: Path, target: Path) -> None:
    # The mode bits are asked too, because to the superuser every file is writable, and a read-only file is meant so.
    mode = target.stat().st_mode
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
        raise ScanifyError(
            f"{path}: is read-only; no file was changed. Make it writable, or look at the change with --diff"
        )


def _demand_unchanged(path: Path, target: Path, expected: bytes) -> None:
    if target.read_bytes() != expected:
        raise ScanifyError(f"{path}: changed on disk while scanify was at work; no file was changed. Run it again")


def _prepare(path: Path, target: Path, data: bytes) -> Path:
    """A finished temporary file beside `target`, on the same file system, so that replacing is one step."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".scanify", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        status = target.stat()
        temporary.chmod(stat.S_IMODE(status.st_mode))
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, status.st_uid, status.st_gid)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
