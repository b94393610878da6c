"""Check whether two runs recorded the same values at a call."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from scanify.verify.recorded.call import RecordedCall
from scanify.verify.recorded.snapshot import Snapshot


def unlike(one: RecordedCall, other: RecordedCall) -> str | None:
    """Describe the argument that has other values; None if all are equal. Tracers have no values to compare.

    A model may hold its layers as a list in one run and stacked in the other: its numbers are compared without order.
    """
    for name, part in one.others.items():
        if name in other.others and _in_order(part) != _in_order(other.others[name]):
            return f"`{name}` has other values"
    for name, part in (*one.given.items(), *one.closure.items()):
        counterpart = other.given.get(name) or other.closure.get(name)
        if counterpart is not None and not _same_numbers(part, counterpart):
            return f"`{name}` has other parameters"
    return None


def _in_order(part: Snapshot) -> list[Any]:
    return [None if a.values is None else (a.aval.shape, str(a.aval.dtype), a.values.tobytes()) for a in part.arrays]


def _same_numbers(one: Snapshot, other: Snapshot) -> bool:
    if one.traced or other.traced:
        return True
    ours, others = _numbers(one), _numbers(other)
    return ours.keys() == others.keys() and all(np.array_equal(ours[kind], others[kind]) for kind in ours)


def _numbers(part: Snapshot) -> dict[str, np.ndarray[Any, Any]]:
    """Return all numbers of a pytree as bytes in ascending order, by dtype."""
    found: defaultdict[str, list[np.ndarray[Any, Any]]] = defaultdict(list)
    for array in part.arrays:
        assert array.values is not None
        raw = np.ascontiguousarray(array.values).reshape(-1)
        found[str(array.aval.dtype)].append(raw.view(f"V{raw.itemsize}"))
    return {kind: np.sort(np.concatenate(some).view(_whole(some[0].itemsize))) for kind, some in found.items()}


def _whole(size: int) -> Any:
    return np.dtype(f"u{size}") if size in (1, 2, 4, 8) else np.dtype("u1")
