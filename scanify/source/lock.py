"""One run at a time writes into a folder; the lock goes with its process, however that ends."""

import contextlib
import importlib.util
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Windows has no such locks: there the contents alone are compared.
fcntl: Any = importlib.import_module("fcntl") if importlib.util.find_spec("fcntl") is not None else None


@contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Inside, no other run writes into these folders. They are taken in one order, so that none waits for another."""
    with contextlib.ExitStack() as stack:
        for folder in sorted(folders):
            if fcntl is not None:
                with contextlib.suppress(OSError):  # a file system without locks
                    handle = os.open(folder, os.O_RDONLY)
                    stack.callback(os.close, handle)
                    fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def try_lock(handle: int) -> bool:
    """Lock an open file, if no living process has: until it is closed."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
