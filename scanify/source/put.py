"""Put one prepared file in its place."""

import os
import stat
from pathlib import Path


def put(temporary: Path, target: Path, data: bytes) -> None:
    """Give `target` the content that is prepared beside it, in one step where nothing of the file is lost by that."""
    if _stands_for(temporary, target):
        temporary.replace(target)
        return
    with target.open("r+b") as file:
        file.truncate(0)  # whoever is stopped here leaves the beginning of the new content, which the journal knows
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.unlink()


def _stands_for(temporary: Path, target: Path) -> bool:
    """Give a new file what is the old one's: mode, owner and attributes; whether it can have all, and no other name."""
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
