"""What a process of tests keeps in memory: jax keeps every program that it has compiled, and most tests compile others."""

import ctypes
import gc
import os
import sys
from pathlib import Path

_ROOM = 500 * 2**20


class Memory:
    """Forgets jax's programs whenever the process has grown. Not for each file: what all use would be loaded again."""

    def __init__(self) -> None:
        self._most = 2 * _ROOM

    def forget_if_large(self) -> None:
        if sys.platform != "linux" or "jax" not in sys.modules or resident() < self._most:
            return
        import jax

        jax.clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # the C library keeps freed pieces of its many arenas
        self._most = max(2 * _ROOM, resident() + _ROOM)


def resident() -> int:
    """Bytes of memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
