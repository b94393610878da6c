"""The distance of two lists of arrays: bit for bit, then in ulp, then relative to their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from scanify.verify.values.arrays import bits, plain

# A leaf that is zero up to rounding (the gradient of the bias of attention keys) is measured against the largest leaf
# of its group times this, not against its own rounding.
_FLOOR = 1e-3
# The ratio of a value to the next smaller one from which they have different scales.
_APART = 1e3


@dataclass(frozen=True)
class Distance:
    """The largest distance over all arrays, and its place.

    `relative`: the largest |a - b| over the largest |a| of the same array (or a thousandth of the largest |a| of all
    arrays, if that is more); infinite if NaN and infinities are at different places, or integers or keys differ.
    `among`: the same among values of one scale, if an array contains some that are a thousand times as large as others.
    `ulp`: the largest number of representable values from a to b; None if that has no meaning.
    """

    bitwise: bool
    ulp: int | None
    relative: float
    where: str = ""
    values: tuple[str, str] = ("", "")
    among: float = 0.0

    def __str__(self) -> str:
        if self.bitwise:
            return "bit for bit equal"
        apart = f"relative difference {self.relative:.2g}"
        if self.ulp is not None and self.ulp <= 64:
            apart = f"{self.ulp} ulp apart ({apart})"
        return f"{apart} at {self.where}: {self.values[0]} in the original, {self.values[1]} in the rewritten version"


EQUAL = Distance(True, 0, 0.0)


def distance(names: Sequence[str], before: Sequence[Any], after: Sequence[Any]) -> Distance:
    """Return the distance between two equally long lists of arrays of the same shapes and dtypes."""
    worst = EQUAL
    for found in distances(names, before, after):
        among = max(found.among, worst.among)
        further = not found.bitwise and (worst.bitwise or found.relative > worst.relative)
        worst = replace(found if further else worst, among=among)
    return worst


def distances(names: Sequence[str], before: Sequence[Any], after: Sequence[Any]) -> list[Distance]:
    """Return the distance between the two arrays of each name; see `distance`."""
    pairs = [(plain(a), plain(b)) for a, b in zip(before, after, strict=True)]
    scale = max((_size(_unmasked(a, b)) for a, b in pairs if _is_inexact(a)), default=0.0)
    return [_one(name, a, b, scale * _FLOOR) for name, (a, b) in zip(names, pairs, strict=True)]


def _one(name: str, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], floor: float) -> Distance:
    if a.shape != b.shape or a.dtype != b.dtype:
        return Distance(False, None, float("inf"), name, (f"{a.dtype}{list(a.shape)}", f"{b.dtype}{list(b.shape)}"))
    if np.array_equal(bits(a), bits(b)):
        return EQUAL
    if not _is_inexact(a):
        at = np.unravel_index(np.argmax(a != b), a.shape)
        return Distance(False, None, float("inf"), _place(name, at), (str(a[at]), str(b[at])))
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    x, y = a.astype(wide), b.astype(wide)
    unlike = ~np.isfinite(x) | ~np.isfinite(y)
    odd = unlike & ~((np.isnan(x) & np.isnan(y)) | (x == y))
    with np.errstate(invalid="ignore"):
        gap = np.where(unlike, 0.0, np.abs(x - y))
    if odd.any():
        at = np.unravel_index(np.argmax(odd), a.shape)
        return Distance(False, None, float("inf"), _place(name, at), (str(a[at]), str(b[at])))
    at = np.unravel_index(np.argmax(gap), a.shape)
    base = max(_size(_unmasked(a, b)), floor)
    relative = float(gap[at]) / base if base else (0.0 if gap[at] == 0 else float("inf"))
    values = repr(x[at].item()), repr(y[at].item())
    return Distance(False, _ulp(a, b), relative, _place(name, at), values, _among(np.abs(x), gap))


def _unmasked(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return a[~_masks(a, b)] if a.shape == b.shape else a


def _masks(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Find where both have one large value several times, like a mask's fill value, which is no measure of size."""
    size = np.abs(a.astype(np.complex128 if np.iscomplexobj(a) else np.float64))
    found = np.zeros(a.shape, bool)
    for _ in range(4):
        left = np.where(found | ~np.isfinite(size), -1.0, size)
        top = left.max(initial=-1.0)
        here = left == top
        rest = left[~here & (left >= 0)].max(initial=-1.0)
        if top <= 0 or rest < 0 or here.sum() < 2 or top < 10 * rest or not (a[here] == b[here]).all():
            return found
        found |= here
    return found


def _among(size: np.ndarray[Any, Any], gap: np.ndarray[Any, Any]) -> float:
    """Return the largest relative gap among values of one scale, without the values of the largest scale."""
    kept = np.isfinite(size) & (size > 0)
    if not kept.any():
        return 0.0
    order = np.argsort(size[kept])
    sizes, gaps = size[kept][order], gap[kept][order]
    ends = np.flatnonzero(sizes[1:] > _APART * sizes[:-1]) + 1
    parts = np.split(np.arange(len(sizes)), ends)
    worst = 0.0
    for part in parts[:-1] if len(parts) > 1 else ():
        worst = max(worst, float(gaps[part].max() / sizes[part].max()))
    return worst


def _is_inexact(a: np.ndarray[Any, Any]) -> bool:
    return bool(jnp.issubdtype(a.dtype, jnp.inexact))


def _size(a: np.ndarray[Any, Any]) -> float:
    wide = np.abs(a.astype(np.complex128 if np.iscomplexobj(a) else np.float64))
    finite = wide[np.isfinite(wide)]
    return float(finite.max()) if finite.size else 0.0


def _ulp(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> int | None:
    """Count the representable values between a and b; floats of one sign are ordered like their bits."""
    if np.iscomplexobj(a):
        parts = [_ulp(np.ascontiguousarray(f(a)), np.ascontiguousarray(f(b))) for f in (np.real, np.imag)]
        return None if None in parts else max(p for p in parts if p is not None)
    kind = {2: np.int16, 4: np.int32, 8: np.int64}.get(a.dtype.itemsize)
    if kind is None:
        return None
    ordered = []
    for value in (a, b):
        raw = np.ascontiguousarray(value).reshape(-1).view(kind).astype(object)
        ordered.append(np.where(raw < 0, -(2 ** (8 * a.dtype.itemsize - 1)) - raw, raw))
    finite = (np.isfinite(a.astype(np.float64)) & np.isfinite(b.astype(np.float64))).reshape(-1)
    gaps = np.abs(ordered[0] - ordered[1])[finite]
    return int(gaps.max()) if gaps.size else 0


def _place(name: str, at: tuple[Any, ...]) -> str:
    return f"{name}[{', '.join(str(int(i)) for i in at)}]" if at else name
