"""Obligations as their texts."""

from collections.abc import Iterable


def texts(obligations: Iterable[object]) -> tuple[str, ...]:
    """Return what must hold, in words."""
    return tuple(map(str, obligations))
