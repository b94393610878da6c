"""Stacks whose layers may lie along another axis than the one by which their leaves were matched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanify.nn.members_first import with_known_axes


def unknown_axes(*built: tuple[Any, Callable[[], Any]]) -> str | None:
    """Why the axis of the layers in a stack of these trees is not known; None if it is in all of them.

    With each tree comes what builds it again, without arrays. If an axis is not known, values that differ say nothing:
    they may be those of other layers.
    """
    try:
        for tree, again in built:
            with_known_axes(tree, again)
    except ValueError as error:
        return str(error)
    return None
