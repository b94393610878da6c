"""Leaves: which are arrays, when two values are the same, and how values and paths are written in a message."""

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np


def is_array(leaf: Any) -> bool:
    """Return True for an array: of jax (tracers included), of numpy, or a numpy number.

    `equinox.filter_jit` turns numpy numbers into jax arrays at its boundary: a leaf must be stacked on both sides or on
    neither.
    """
    # `eqx.is_array` is slower: jax's array class has its own instance check.
    return type(leaf) not in _NEVER and bool(eqx.is_array(leaf))


_NEVER = frozenset((bool, int, float, complex, str, type(None), types.FunctionType, jax.ShapeDtypeStruct))


def is_number(leaf: Any) -> bool:
    """Return True for a Python number, which jax converts to a weak-typed array."""
    return isinstance(leaf, bool | int | float | complex) and not is_array(leaf)


def has_aval(leaf: Any) -> bool:
    """Return True for an array, or a `jax.ShapeDtypeStruct`, which replaces one in a model built without weights."""
    return isinstance(leaf, jax.ShapeDtypeStruct) or is_array(leaf)


def aval(leaf: Any) -> tuple[tuple[int, ...], Any, bool]:
    """Return the shape, the dtype and whether the type is weak."""
    return tuple(leaf.shape), leaf.dtype, bool(getattr(leaf, "weak_type", False))


def is_numpy(leaf: Any) -> bool:
    """Return True for numpy leaves, which code that looks for `jax.Array` does not train."""
    return isinstance(leaf, np.ndarray | np.generic)


def varying(leaf: Any) -> frozenset[str]:
    """Return the mesh axes of a `jax.shard_map` over which a value varies; a carry may begin to vary on its way."""
    if isinstance(leaf, jax.core.Tracer):
        leaf = jax.typeof(leaf)
    manual = getattr(leaf, "manual_axis_type", None)
    return frozenset() if manual is None else frozenset(manual.varying)


def aval_text(leaf: Any) -> str:
    """Return `float32[8,64]` for arrays, the class of a module, the kind of a container, or the value itself."""
    if has_aval(leaf):
        shape, dtype, weak = aval(leaf)
        return f"{dtype}[{','.join(str(size) for size in shape)}]{' (weak)' if weak else ''}"
    if isinstance(leaf, eqx.Module):
        return f"a {type(leaf).__qualname__}"
    if isinstance(leaf, list | tuple | dict) and not jax.tree_util.all_leaves([leaf]) and len(leaf) > 0:
        return f"a {type(leaf).__name__} of {len(leaf)}"
    text = repr(leaf)
    return text if len(text) <= 60 else f"{text[:57]}..."


def path_text(path: Any) -> str:
    """Write a key path as in Python, `.attn.heads[0].weight`; "the value itself" for the empty one."""
    return (jax.tree_util.keystr(path) if isinstance(path, tuple) else path) or "the value itself"


def same_value(one: Any, other: Any) -> bool:
    """True if two non-array values are the same for every program: 1, 1.0 and True are three values.

    Containers, `functools.partial` and objects are compared by their contents: an `__eq__` may ignore values that a
    layer computes with, such as a dataclass's with `field(compare=False)`. Values that cannot be compared are not the
    same.
    """
    if one is other:
        return True
    if type(one) is not type(other) or isinstance(one, type):
        return False
    if type(one).__name__ == "SharedNode" and type(one).__module__.startswith("equinox."):
        return True  # a placeholder in an `equinox.nn.Shared` without any content
    try:
        return _same(one, other)
    except Exception:  # an `__eq__` that raises, or that returns something other than a bool, is ignored
        return False


def _same(one: Any, other: Any) -> bool:
    for kind, compare in _COMPARE:
        if isinstance(one, kind):
            return compare(one, other) and _same_state(one, other)
    return bool(one == other) and _same_state(one, other)


# Packages whose classes have a complete `__eq__`.
_KNOWN = frozenset(sys.stdlib_module_names) - {"builtins"} | {"jax", "jaxlib", "numpy", "ml_dtypes"}


_BUILTINS = frozenset(each for each in vars(builtins).values() if isinstance(each, type))


def _same_state(one: Any, other: Any) -> bool:
    """True if two objects of one class have the same attributes, whatever their `__eq__` says."""
    mine, theirs = _state(one), _state(other)
    return mine.keys() == theirs.keys() and all(same_value(mine[name], theirs[name]) for name in mine)


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object of a class written in Python; none for one that a known library compares."""
    found: dict[str, Any] = {}
    for cls in type(value).__mro__:
        if cls.__module__.partition(".")[0] in _KNOWN or cls in _BUILTINS:
            continue
        slots = cls.__dict__.get("__slots__", ())
        for written in (slots,) if isinstance(slots, str) else slots:
            private = written.startswith("__") and not written.endswith("__")
            name = f"_{cls.__name__.lstrip('_')}{written}" if private else written
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
        found |= getattr(value, "__dict__", {})
    return found


def _same_items(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(map(same_value, one, other))


def _same_dicts(one: Any, other: Any) -> bool:
    return _same_items(list(one.items()), list(other.items()))


def _same_sets(one: Any, other: Any) -> bool:
    return bool(one == other) and sorted(map(repr, one)) == sorted(map(repr, other))


def _same_arrays(one: Any, other: Any) -> bool:
    if aval(one) != aval(other) or isinstance(one, jax.core.Tracer) or isinstance(other, jax.core.Tracer):
        return False
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def _same_partials(one: Any, other: Any) -> bool:
    parts = [(part.func, part.args, part.keywords) for part in (one, other)]
    return same_value(*parts)


_COMPARE: tuple[tuple[Any, Callable[[Any, Any], bool]], ...] = (
    ((float, complex), lambda one, other: repr(one) == repr(other)),  # -0.0 is not 0.0, a NaN is a NaN
    (str, str.__eq__),
    (bytes, bytes.__eq__),
    (int, int.__eq__),
    ((tuple, list), _same_items),
    (dict, _same_dicts),
    ((set, frozenset), _same_sets),
    ((np.ndarray, np.generic, jax.Array), _same_arrays),
    (functools.partial, _same_partials),
)
