"""Locks that let one run at a time write into a folder; they end with their process."""

import contextlib
import importlib.util
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Windows has no such locks; there, only contents are compared.
fcntl: Any = importlib.import_module("fcntl") if importlib.util.find_spec("fcntl") is not None else None


@contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Exclude other runs from writing into these folders. They are locked in sorted order to avoid deadlocks."""
    with contextlib.ExitStack() as stack:
        for folder in sorted(folders):
            if fcntl is not None:
                with contextlib.suppress(OSError):  # a file system without lock support
                    handle = os.open(folder, os.O_RDONLY)
                    stack.callback(os.close, handle)
                    fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def try_lock(handle: int) -> bool:
    """Lock an open file until it is closed, unless another live process holds the lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
