"""Check that no version ran code of the other one; otherwise it was compared with itself, and verdicts are worthless.

Both versions are loaded in one process (`scanify.verify.versions.overlay`). Changes by their modules outside the
project, in the registry of a library or as a method added to its class, are shared: the second version replaces the
first, or is never added.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from scanify.errors import ScanifyError
from scanify.jaxpr.reading.calls import children, opened
from scanify.verify.versions.loaded import REWRITTEN

_JAX = f"{Path(jax.__file__).parent}{os.sep}"

Files = Callable[[str], str | None]


def check_not_mixed(original: ClosedJaxpr, rewritten: ClosedJaxpr | None, files: Files | None) -> None:
    """Raise ScanifyError if an operation of one version was traced by code of the other.

    Operations inside others, as in a jitted function or in the body of a scan, are judged by the nearest line alone,
    which created them; their callers may have called the function for both versions.
    """
    for name in _files(original.jaxpr):
        if name.endswith(REWRITTEN):
            raise _error("original", "rewritten", name.removesuffix(REWRITTEN), files)
    for name in () if rewritten is None else _files(rewritten.jaxpr):
        if name + REWRITTEN in linecache.cache:  # where the overlay keeps the texts that it replaces
            raise _error("rewritten", "original", name, files)


def _files(jaxpr: Any, *, inside: bool = False) -> Iterator[str]:
    """Yield the files that created the operations; for inner ones, which a library may share, the nearest one."""
    seen: set[int] = set()
    for equation in jaxpr.eqns:
        for child in children(equation):
            yield from _files(opened(child)[0], inside=True)
        traceback = equation.source_info.traceback
        if traceback is None or id(traceback) in seen:
            continue
        seen.add(id(traceback))
        names = [frame.file_name for frame in traceback.frames]
        if inside:
            names = [name for name in names if not name.startswith(_JAX)][:1]
        yield from set(names)


def _error(ran: str, other: str, name: str, files: Files | None) -> ScanifyError:
    shown = (files(name) if files is not None else None) or name
    return ScanifyError(
        f"the {ran} model ran code of the {other} {shown}, so the two versions cannot be compared in one process: "
        "something outside the project (a registry, a class that is patched) keeps what the file defines when it is "
        "imported; build the model in the case without it"
    )
