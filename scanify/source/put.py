"""Move a prepared file to its final place."""

import os
import stat
from pathlib import Path


def put(temporary: Path, target: Path, data: bytes) -> None:
    """Write new content to `target`, atomically if that preserves the properties of the file."""
    if _stands_for(temporary, target):
        temporary.replace(target)
        return
    with target.open("r+b") as file:
        file.truncate(0)  # an interruption here leaves a prefix of the new content, which the journal recognises
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.unlink()


def _stands_for(temporary: Path, target: Path) -> bool:
    """Copy mode, owner and extended attributes to a new file; false if that fails or `target` has hard links."""
    status = target.stat()
    if status.st_nlink > 1:
        return False
    try:
        if (status.st_uid, status.st_gid) != ((own := temporary.stat()).st_uid, own.st_gid):
            os.chown(temporary, status.st_uid, status.st_gid)
        temporary.chmod(stat.S_IMODE(status.st_mode))
        for name in os.listxattr(target) if hasattr(os, "listxattr") else ():
            os.setxattr(temporary, name, os.getxattr(target, name))
    except OSError:
        return False
    return True
