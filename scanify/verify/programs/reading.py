"""Read the contents of one traced program, with the numbering that also proves programs equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scanify.jaxpr.number import Numbering

T = TypeVar("T")


def read(numbering: Numbering, program: Any) -> list[int]:
    """Return the output nodes of a `ClosedJaxpr`; its inputs are the table's `input` nodes, by their index."""
    leaves = [
        numbering.table.node("input", index, (), tuple(aval.shape), aval.dtype)
        for index, aval in enumerate(program.in_avals)
    ]
    return numbering.run(program.jaxpr, program.consts, leaves)


def or_none(act: Callable[[], T]) -> T | None:
    """Return `act()`; None for a program on which its reader fails, and which then has no further information."""
    try:
        return act()
    except MemoryError:
        raise
    except Exception:
        return None
