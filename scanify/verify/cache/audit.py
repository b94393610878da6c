"""Audit events of the interpreter: opened files, changed variables, changes of directory.

Python's audit hooks cannot be removed (PEP 578), so there is only one.
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
    """Call `hear` with each event and its arguments, before it happens, in this context."""
    if not _HOOKED:
        sys.addaudithook(_tell)
        _HOOKED.append(_tell)
    _HEARING.append(hear)
    try:
        yield
    finally:
        _HEARING.remove(hear)


def go_to(folder: str) -> None:
    """Change the directory, without an event, since it is not the user's code that does it."""
    heard, _HEARING[:] = list(_HEARING), []
    try:
        os.chdir(folder)
    finally:
        _HEARING[:] = heard


def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    for hear in _HEARING:
        hear(event, arguments)
