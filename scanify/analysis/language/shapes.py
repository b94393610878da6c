"""Which operations keep the shape and the dtype of a carry."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.lower.text import dotted

SAME_SHAPE = frozenset(
    "relu relu6 silu swish gelu sigmoid tanh softplus elu leaky_relu selu celu hard_tanh hard_sigmoid hard_silu mish "
    "log_sigmoid soft_sign softmax log_softmax standardize identity squareplus exp log log1p expm1 sin cos abs sqrt "
    "square negative clip maximum minimum add subtract multiply divide where nan_to_num stop_gradient rsqrt sign "
    "with_sharding_constraint device_put filter_shard nextafter power asarray array copy error_if optimization_barrier "
    "zeros_like ones_like reciprocal arctan sinh cosh floor ceil round roll flip cumsum cumprod sort".split()
)
KEEPS_SHAPE = ("LayerNorm", "RMSNorm", "GroupNorm", "Dropout", "Identity", "PReLU", "Linear", "MLP",
                "RotaryPositionalEmbedding", "MultiheadAttention")  # fmt: skip


LAST_AXIS = " @"
"""Ends the shape of an array that differs from a carry's in the size of one axis at most.

Layers that are built alike and applied one after another make that size the one that each of them expects.
"""

RESIZED = " resized"
"""Ends the shape of an array that is a carry with another size: a part of it, or one with more behind it."""
_ROW = " row"  # ends the shape of a part that a mapped function is passed
_JOINS = frozenset("concatenate concat hstack vstack stack".split())


def resized(value: t.Array) -> t.Array:
    """A part of an array, or one with more behind it; resized again, it may have its first size."""
    again = value.shape is None or RESIZED in value.shape or LAST_AXIS in value.shape
    return replace(value, shape=None if again else f"{value.shape}{RESIZED}")


def with_arrays(value: t.Type, change: Callable[[t.Array], t.Array]) -> t.Type:
    """A value with another array in the place of each of its arrays."""
    match value:
        case t.Array():
            return change(value)
        case t.Items(parts=parts, each=each):
            changed = tuple(with_arrays(part, change) for part in parts or ())
            return replace(value, parts=changed if parts is not None else None, each=each and with_arrays(each, change))
        case t.Union(options=found):
            return t.join(with_arrays(option, change) for option in found)
        case _:
            return value


def row(value: t.Array) -> t.Array:
    """The part of an array that a function is passed which is mapped over it."""
    return replace(value, shape=f"{value.shape}{_ROW}") if value.shape is not None else value


def of_rows(value: t.Array, moved: str) -> t.Array:
    """The results of a function for all rows of arrays, which has the shape of a carry that it is mapped over."""
    base, mark, changed = (value.shape or "").rpartition(_ROW)
    kept = mark and not moved and changed in ("", LAST_AXIS, RESIZED)
    return replace(value, shape=f"{base}{changed}" if kept else None)


def weakened(value: t.Array) -> t.Array:
    """The result of a product with a matrix."""
    if value.shape is None or value.shape.endswith(LAST_AXIS):
        return value
    return replace(value, shape=None if value.shape.endswith(RESIZED) else f"{value.shape}{LAST_AXIS}")


def joined(name: str, args: t.Types) -> t.Array | None:
    """The result of a concatenation of a carry with other arrays; None for all other functions."""
    parts = args[0].parts or () if name in _JOINS and args and isinstance(args[0], t.Items) else ()
    carries = [each for each in parts if isinstance(each, t.Array) and each.shape and LAST_AXIS not in each.shape]
    return resized(carries[0]) if len(parts) > 1 and carries else None


def is_resized(index: ast.expr) -> bool:
    """True if a subscript adds an axis or leaves out a part of one: `x[:, None]`, `x[::2]`, `x[:, 1:]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if any((isinstance(each, ast.Constant) and each.value is None) or _last(each) == "newaxis" for each in parts):
        return True
    slices = [each for each in parts if isinstance(each, ast.Slice)]
    ends = [(each.lower, 0) for each in slices] + [(each.step, 1) for each in slices]
    cut = any(isinstance(end, ast.Constant) and end.value != whole for end, whole in ends)
    return cut and len(slices) == len(parts)


def _last(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


_DTYPE_AT = {"asarray": 1, "array": 1, "zeros": 1, "ones": 1, "empty": 1, "full": 2, "convert_element_type": 1}
_CASTS = {
    **dict.fromkeys("fft ifft fft2 ifft2 fftn ifftn rfft rfft2 rfftn ihfft complex complex64".split(), "complex"),
    **dict.fromkeys("isfinite isnan isinf logical_and logical_or logical_not logical_xor isclose isin".split(), "bool"),
    **dict.fromkeys("greater greater_equal less less_equal equal not_equal signbit".split(), "bool"),
    **dict.fromkeys("arange argmax argmin argsort searchsorted".split(), "int32"),
}
"""The dtypes of functions that give one dtype, whatever they are passed."""
_REAL = frozenset("abs absolute real imag angle irfft irfft2 irfftn hfft".split())


def cast_of(name: str, args: t.Types, keywords: t.Named, arrays: Sequence[t.Array] = ()) -> str | None:
    """The dtype that an operation gave the result of a function; None if none named one, nor for its arguments."""
    at = _DTYPE_AT.get(name, len(args))
    given = [keywords[key] for key in ("dtype", "preferred_element_type", "new_dtype") if key in keywords]
    for value in (*given, *args[at : at + 1]):
        return dtype_of(value)
    if name in _CASTS or name in tables.DTYPES:
        return _CASTS.get(name, name)
    return None if name in _REAL else result_cast(arrays)


def dtype_of(value: t.Type) -> str | None:
    """The name of a dtype that is passed; None for that of an array."""
    match value:
        case t.Nothing():
            return None
        case t.LibraryFunction(qualname=qualname) | t.ClassOf(cls=str(qualname)):
            text = qualname.rpartition(".")[2]
        case t.Static(text=text):
            text = (text or "another").strip("'\"")
        case _:
            text = "another"
    return None if text.startswith("dtype:") else "complex" if "complex" in text else text


def result_cast(arrays: Sequence[t.Array]) -> str | None:
    """The dtype that arrays were cast to and that an operation on them keeps, which floats make of integers."""
    casts = [each.cast for each in arrays]
    kept = (cast for cast in casts if cast and not cast.startswith(("bool", "int", "uint")))
    return casts[0] if len(casts) == 1 else "complex" if "complex" in casts else next(kept, None)
