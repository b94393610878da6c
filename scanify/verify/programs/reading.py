"""Reading one traced program for what is in it, with the numbering that also proves programs equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scanify.jaxpr.number import Numbering

T = TypeVar("T")


def read(numbering: Numbering, program: Any) -> list[int]:
    """The nodes of the outputs of a `ClosedJaxpr`; its inputs are the `input` nodes of the table, by their index."""
    leaves = [
        numbering.table.node("input", index, (), tuple(aval.shape), aval.dtype)
        for index, aval in enumerate(program.in_avals)
    ]
    return numbering.run(program.jaxpr, program.consts, leaves)


def or_none(act: Callable[[], T]) -> T | None:
    """What `act` answers; None for a program that its reader stumbles over, which then tells nothing more."""
    try:
        return act()
    except MemoryError:
        raise
    except Exception:
        return None
