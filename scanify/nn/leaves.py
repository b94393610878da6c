"""Which leaves are arrays, and how leaves and their places read in a message."""

from typing import Any

import jax
import numpy as np


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array that a stack holds along a leading axis: of jax (tracers included) or of numpy.

    `equinox.is_array` leaves numpy arrays out; but `equinox.filter_jit` turns those into jax arrays at its border, and
    a leaf must be stacked on either side of it or on neither.
    """
    return isinstance(leaf, jax.Array | np.ndarray)


def aval_text(leaf: Any) -> str:
    """`float32[8,64]` for arrays, the value itself for other leaves."""
    if is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct):
        weak = " (weak)" if getattr(leaf, "weak_type", False) else ""
        return f"{leaf.dtype}[{','.join(str(size) for size in leaf.shape)}]{weak}"
    text = repr(leaf)
    return text if len(text) <= 60 else f"{text[:57]}..."


def path_text(path: Any) -> str:
    """A key path as Python writes it, `.attn.heads[0].weight`; "the value itself" for the empty one."""
    return jax.tree_util.keystr(path) if isinstance(path, tuple) and path else (path or "the value itself")


def same_leaf(one: Any, other: Any) -> bool:
    """Whether two leaves that are not arrays are the same value: 1, 1.0 and True are three different ones."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    try:
        return bool(one == other)
    except Exception:  # an `__eq__` that cannot answer with a bool says nothing
        return False
