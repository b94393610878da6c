"""What the interpreter tells of itself: files that are opened, variables that are set, the directory that is changed.

Python has hooks for it that, once added, stay for as long as the process lives (PEP 578): so there is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Hear = Callable[[str, tuple[Any, ...]], None]

_HEARING: list[Hear] = []
_HOOKED: list[Hear] = []


@contextmanager
def hearing(hear: Hear) -> Iterator[None]:
    """Inside, `hear` is told each event and its arguments, before it happens."""
    if not _HOOKED:
        sys.addaudithook(_tell)
        _HOOKED.append(_tell)
    _HEARING.append(hear)
    try:
        yield
    finally:
        _HEARING.remove(hear)


def go_to(folder: str) -> None:
    """Change the directory, without telling: it is not the user's code that does it."""
    heard, _HEARING[:] = list(_HEARING), []
    try:
        os.chdir(folder)
    finally:
        _HEARING[:] = heard


def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    for hear in _HEARING:
        hear(event, arguments)
