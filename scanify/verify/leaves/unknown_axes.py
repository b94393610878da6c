"""Stacks whose layers may lie along another axis than the one by which their leaves were matched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanify.nn.members_first import with_known_axes


def unknown_axes(*built: tuple[Any, Callable[[], Any]]) -> str | None:
    """Return why the layer axis of a stack in these trees is not known; None if all are known.

    Each tree comes with a function that builds it again, without arrays. If an axis is not known, differing values are
    no evidence: they may belong to other layers.
    """
    try:
        for tree, again in built:
            with_known_axes(tree, again)
    except ValueError as error:
        return str(error)
    return None
