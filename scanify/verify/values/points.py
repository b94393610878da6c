"""The values at which two versions are compared: near the case's own values, and far from them.

A case has few values. Initial biases are zero in every layer and hide their order, a mask that is true everywhere hides
that it was lost, activations around 1 never reach a clip at 100, and a row of token ids is one of many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from scanify.verify.values.arrays import is_inexact, is_key

# The factors for larger floats.
INPUTS, PARAMETERS = 1000.0, 8.0
# An integer beyond most counts of steps and positions, and the number of flags that are flipped one by one.
LARGE, FLAGS = 1024, 4


_Wide = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Point:
    """Values for all leaves, with a description: "" for values near the case's own."""

    leaves: Sequence[Any]
    about: str = ""


def near(leaves: Sequence[Any], call: Callable[[Sequence[Any]], Sequence[Any]], seed: int = 0) -> tuple[Point, bool]:
    """Return leaves for which no two layers are equal, and whether they are moved; `call` runs the original.

    Values move by some percent of their size and zeros a little upwards, so that variances stay positive and masks of
    infinities are kept. Some bools change. If that makes more of the outputs NaN, such as for a fully masked row, the
    bools are kept; if it still does, all leaves.
    """
    rng = np.random.default_rng(seed)
    moved = [_move(rng, x) if is_inexact(x) else x for x in leaves]
    flipped = [_flip(rng, x) if jnp.issubdtype(x.dtype, jnp.bool_) else x for x in moved]
    try:
        plain = not_finite(call(list(leaves)), infinite=False)
        useful = next((xs for xs in (flipped, moved) if not_finite(call(xs), infinite=False) <= plain), None)
    except Exception:  # reported by the comparison itself, which runs the same
        return Point(list(leaves)), True
    return (Point(list(leaves)), False) if useful is None else (Point(useful), True)


def far(leaves: Sequence[Any], inputs: Sequence[int]) -> tuple[Point, ...]:
    """Return points far from the values of the case.

    Other integers within the range of each array of the call's arguments (`inputs`), and beyond it; larger inputs and
    larger parameters, which reach other thresholds; inputs of zeros, like padding, where compared values may be tied
    (the gradient of `max(x, 0)` at 0 is that of a tie, unlike for `relu`), and zeros for all floats; flipped truth
    values; integers below zero, like padding and ignored ids.

    If all integers of an array are the same, such as a position, some are increased by one.
    """
    rng = np.random.default_rng(2)
    drawn = {i: _draw(rng, leaves[i]) for i in inputs if _is_integer(leaves[i])}
    floats = [i for i, x in enumerate(leaves) if is_inexact(x)]
    found = [("other integers", drawn)]
    for what, factor, given in (("inputs", INPUTS, True), ("parameters", PARAMETERS, False)):
        scaled = [i for i in floats if (i in inputs) == given]
        larger = {i: _computed(leaves[i], lambda x, factor=factor: x * factor) for i in scaled}  # type: ignore[misc]
        found.append((f"{what} {factor:.0f} times as large", larger))
    found.append(("inputs of zeros", {i: leaves[i] * 0 for i in inputs if is_inexact(leaves[i])}))
    if not set(floats) <= set(inputs):  # a norm in a denominator may be zero, however deep in the model
        found.append(("inputs and parameters of zeros", {i: leaves[i] * 0 for i in floats}))
    flags = [i for i in inputs if jnp.issubdtype(leaves[i].dtype, jnp.bool_)]
    found += [("truth values the other way round", {i: _not(leaves[i])}) for i in flags[:FLAGS]]
    whole = [i for i in inputs if _is_integer(leaves[i])]
    found.append(("integers a little larger", {i: _larger(leaves[i]) for i in whole}))
    found.append(("integers beyond those of the case", {i: _beyond(rng, leaves[i]) for i in whole}))
    found.append(("zeros for integers", {i: leaves[i] * 0 for i in whole}))
    found.append(("integers below zero", {i: _below(rng, leaves[i]) for i in whole if leaves[i].dtype.kind == "i"}))
    return tuple(Point([new.get(i, x) for i, x in enumerate(leaves)], about) for about, new in found if new)


def shaken(leaves: Sequence[Any], size: float) -> list[Any]:
    """Return the leaves rounded with this relative size."""
    rng = np.random.default_rng(3)

    def moved(x: _Wide) -> _Wide:
        rounded: _Wide = x * (1 + rng.choice([-size, size], x.shape))
        return rounded

    return [_computed(x, moved) if is_inexact(x) else x for x in leaves]


def _computed(x: Any, function: Callable[[_Wide], _Wide]) -> Any:
    """Apply a NumPy function to an array, without compilation, in the dtype of the array."""
    held = np.asarray(x)
    with np.errstate(all="ignore"):
        wide = held.astype(np.complex128 if np.iscomplexobj(held) else np.float64)
        return jnp.asarray(function(wide).astype(held.dtype))


def _is_integer(x: Any) -> bool:
    return not is_key(x) and np.dtype(x.dtype).kind in "iu" and x.size > 0


def _draw(rng: np.random.Generator, x: Any) -> Any:
    held = np.asarray(x)
    low, high = held.min(), held.max()
    if low < high:
        return jnp.asarray(rng.integers(low, high, held.shape, held.dtype, endpoint=True))
    moved = np.asarray(rng.random(held.shape) < 0.5)
    moved.flat[rng.integers(held.size)] = True
    # By jax, which keeps weak types.
    return jnp.where(moved, x + (1 if low < np.iinfo(held.dtype).max else -1), x)


def _not(x: Any) -> Any:
    return jnp.asarray(np.logical_not(np.asarray(x)))


def _beyond(rng: np.random.Generator, x: Any) -> Any:
    """Replace some of the integers by larger ones than all existing, by one and by much, up to the dtype's maximum."""
    held = np.asarray(x)
    most = int(np.iinfo(held.dtype).max)
    high = int(held.max())
    choices = np.array([min(high + 1, most), min(2 * high + 1, most), min(max(LARGE, high), most)], held.dtype)
    if not held.ndim:
        return x + (int(choices[-1]) - int(held))
    chosen = np.asarray(rng.random(held.shape) < 0.5)
    chosen.flat[rng.integers(held.size)] = True
    return jnp.asarray(np.where(chosen, rng.choice(choices, held.shape), held))


def _below(rng: np.random.Generator, x: Any) -> Any:
    """Replace some of the integers by -1 and some by -100, at most half of them. A single one becomes -1."""
    if not x.ndim:
        return x * 0 - 1
    held, chosen = np.array(x), rng.permutation(x.size)[: max(2, x.size // 2)]
    held.flat[chosen] = np.where(np.arange(len(chosen)) % 2, -100, -1)
    return jnp.asarray(held)


def _larger(x: Any) -> Any:
    """Increase integers as a number of steps, so that results are still finite if many steps make them infinite."""
    return jnp.where(x <= (np.iinfo(x.dtype).max - 3) // 2, 2 * x + 3, x).astype(x.dtype)


def _flip(rng: np.random.Generator, x: Any) -> Any:
    """Flip about a quarter of the elements, at least one. A single bool, such as a flag, is kept."""
    if x.size < 2:
        return x
    chosen = rng.random(x.shape) < 0.25
    chosen.flat[rng.integers(x.size)] = True
    return jnp.asarray(np.logical_xor(np.asarray(x), chosen))


def _move(rng: np.random.Generator, x: Any) -> Any:
    noise = rng.standard_normal(x.shape)
    return _computed(x, lambda held: np.where(held == 0, 0.05 * np.abs(noise), held * (1 + 0.1 * noise)))


def not_finite(values: Sequence[Any], *, infinite: bool = True) -> int:
    """Count the elements that are NaN, or infinite."""
    odd = (lambda x: ~np.isfinite(x)) if infinite else np.isnan
    return sum(int(odd(np.asarray(x)).sum()) for x in values if not is_key(x) and is_inexact(x))
