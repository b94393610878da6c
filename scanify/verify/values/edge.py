"""Find the place between two points where a program begins to raise, or to give NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from scanify.verify.values.arrays import is_inexact
from scanify.verify.values.points import Point, not_finite, shaken

# The number of bisection steps.
STEPS = 8
# A relative change of the leaves within which differently compiled programs may differ in overflows.
NEAR = 0.005


def at_edge(runner: Any, point: Point, other: Point, found: Any, limit: float) -> str:
    """Describe how two versions differ near the place between two points where the original begins to raise, or to give
    more NaN and infinities; "" if they do not, or if there is no such place.

    `runner` runs both versions at a point, and `found` is its result at `other`, which differs in floats alone. Points
    next to the place are not used, since rounding moves it, and neither is NaN caused by rounding to the tolerance
    `limit`.
    """
    others = [not is_inexact(a) for a, b in zip(point.leaves, other.leaves, strict=True) if a is not b]
    if any(others) or not (found.unsupported or not_finite(found.before)):
        return ""
    usual = not_finite(runner.both(point).before)
    if not found.unsupported and not_finite(found.before) <= usual:
        return ""

    unended = list[str]()

    def is_odd(leaves: Sequence[Any]) -> bool:
        values, raised = ([], "") if unended else runner.original(leaves)
        unended.extend([raised] if raised.startswith(TimeoutError.__name__) else [])
        return bool(raised) or not_finite(values) > usual

    def search() -> list[Sequence[Any]]:
        with runner.width():
            points = _beside(is_odd, runner.given(point.leaves), runner.given(other.leaves))
            # If one run on the way does not end, each further one may take as long.
            return [leaves for leaves, odd in points if is_odd(shaken(leaves, NEAR)) == odd and not unended]

    for number, leaves in enumerate(runner.case.once((*runner.key(other), "edge"), search)):
        # The original's result is cached by this text.
        about = f"on the way to {other.about}, at point {number} where the original begins to raise or to give NaN"
        beside = Point(leaves, about)
        both = runner.both(beside)
        odd = both.ran and np.isinf(both.apart.relative) and not np.isinf(runner.rounding(beside, both, limit))
        if both.wrong or odd:
            return f"{about}: {both.wrong or both.apart}"
    return ""


def _beside(
    is_odd: Callable[[Sequence[Any]], bool], low: Sequence[Any], high: Sequence[Any]
) -> list[tuple[Sequence[Any], bool]]:
    """Bisect to where `is_odd` becomes true, and return the last two points on either side, with its value."""
    sides = {False: [low], True: [high]}
    for _ in range(STEPS):
        middle = list(map(_halfway, sides[False][-1], sides[True][-1]))
        sides[is_odd(middle)].append(middle)
    return [(leaves, odd) for odd, side in sides.items() for leaves in side[1:][-2:]]


def _halfway(a: Any, b: Any) -> Any:
    """Return the geometric mean of numbers of one sign, and the mean of others; `a` if the arrays are not floats."""
    if a is b or not is_inexact(a):
        return a
    x, y = np.asarray(a), np.asarray(b)
    with np.errstate(all="ignore"):
        alike = (np.sign(x) == np.sign(y)) & (x != 0)
        found = np.where(alike, np.sign(x) * np.sqrt(np.abs(x)) * np.sqrt(np.abs(y)), (x + y) / 2)
    return jnp.asarray(found.astype(x.dtype))
