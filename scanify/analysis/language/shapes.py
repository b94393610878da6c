"""Which operations keep the shape and the dtype of a carry."""

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.language.types import Array, Items, Named, Nothing, Static, Type, Types

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
_ROW = " row"  # of what a function that is mapped over an array sees of it
_JOINS = frozenset("concatenate concat hstack vstack column_stack append stack tile repeat pad".split())


def resized(value: Array) -> Array:
    """A part of an array, or one with more behind it; resized again, it may have its first size."""
    again = value.shape is None or RESIZED in value.shape or LAST_AXIS in value.shape
    return Array(None if again else f"{value.shape}{RESIZED}", value.cast, value.certain)


def row(value: Array) -> Array:
    """What a function that is mapped over an array sees of it."""
    return replace(value, shape=f"{value.shape}{_ROW}") if value.shape is not None else value


def of_rows(value: Array, moved: str) -> Array:
    """The results of a function for all rows of arrays, which has the shape of a carry that it is mapped over."""
    base, mark, changed = (value.shape or "").rpartition(_ROW)
    return replace(
        value, shape=f"{base}{changed}" if mark and not moved and changed in ("", LAST_AXIS, RESIZED) else None
    )


def weakened(value: Array) -> Array:
    """The result of a product with a matrix."""
    if value.shape is None or value.shape.endswith(LAST_AXIS):
        return value
    return replace(value, shape=None if value.shape.endswith(RESIZED) else f"{value.shape}{LAST_AXIS}")


def joined(name: str, args: Types) -> Array | None:
    """The result of a concatenation with a carry in it; None for all other functions."""
    if name not in _JOINS or not args:
        return None
    parts = args[0].parts if isinstance(args[0], Items) else args[:1]
    several = name in ("tile", "repeat", "pad", "append") or (parts is not None and len(parts) > 1)
    carries = [each for each in parts or () if isinstance(each, Array) and each.shape and LAST_AXIS not in each.shape]
    return resized(carries[0]) if several and carries else None


def is_cut(node: ast.Subscript) -> bool:
    """True if a subscript leaves out a part of an axis: `x[::2]`, `x[:, 1:]`, `x[: x.shape[0] // 2]`."""
    match node.slice:
        case ast.Slice(lower=None, upper=ast.BinOp(left=left, op=ast.FloorDiv()), step=None):
            return ast.unparse(left) == f"{ast.unparse(node.value)}.shape[0]"
    slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(isinstance(each, ast.Slice) for each in slices) and any(map(_cuts, slices))


def _cuts(part: ast.expr) -> bool:
    if not isinstance(part, ast.Slice):
        return False
    lower, upper, step = (ast.unparse(each) if each is not None else "" for each in (part.lower, part.upper, part.step))
    if step not in ("", "1", "-1") or (_is_whole(lower) and lower != "0"):
        return True
    return upper.startswith("-") and _is_whole(upper)


_DTYPE_AT = {"asarray": 1, "array": 1, "zeros": 1, "ones": 1, "empty": 1, "full": 2, "convert_element_type": 1}
_DTYPES = frozenset(
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 bool_ complex64 complex128".split()
)
_COMPLEX = frozenset("fft ifft fft2 ifft2 fftn ifftn rfft rfft2 rfftn ihfft complex complex64 complex128".split())
_REAL = frozenset("abs absolute real imag angle irfft irfft2 irfftn hfft".split())
_BOOLEAN = frozenset(
    "isfinite isnan isinf logical_and logical_or logical_not logical_xor greater greater_equal less less_equal equal "
    "not_equal isclose isin signbit".split()
)
_INTEGERS = frozenset("argmax argmin argsort searchsorted".split())


def cast_of(node: ast.expr, name: str, args: Types, keywords: Named) -> str | None:
    """The dtype that a function of arrays gives its result, as written; None if it keeps that of its arguments."""
    call = node if isinstance(node, ast.Call) else None
    written = {each.arg: each.value for each in call.keywords if each.arg is not None} if call is not None else {}
    for key in ("dtype", "preferred_element_type", "new_dtype"):
        if key in keywords and key in written:
            return _dtype(written[key], keywords[key])
    at = _DTYPE_AT.get(name, len(args))
    if call is not None and at < len(args) == len(call.args):
        return _dtype(call.args[at], args[at])
    if name in _COMPLEX:
        return "complex"
    if name in _DTYPES:
        return name
    if name in _BOOLEAN:
        return "bool"
    whole = name == "arange" or (name in ("asarray", "array") and len(args) == 1)
    texts = [each.text if isinstance(each, Static) else None for each in args]
    if name in _INTEGERS or (whole and args and all(map(_is_whole, texts))):
        return "int32"
    return None


def _dtype(node: ast.expr, value: Type) -> str | None:
    """A dtype as it is written; None for that of an array, "complex" for one that is complex."""
    text = ast.unparse(node)
    if isinstance(value, Nothing) or (isinstance(value, Static) and (value.text or "").startswith("dtype:")):
        return None
    return "complex" if "complex" in text else text


def _is_whole(text: str | None) -> bool:
    return (text or "").lstrip("-").isdigit()


_INTEGRAL = re.compile(r"\b(bool|bool_|u?int\d*)\W*$")  # dtypes that an operation with floats leaves behind


def result_cast(arrays: Sequence[Array]) -> str | None:
    """The dtype that arrays were cast to and that an operation on them keeps."""
    casts = [each.cast for each in arrays]
    if len(casts) == 1:
        return casts[0]
    return "complex" if "complex" in casts else next((c for c in casts if c and not _INTEGRAL.search(c)), None)


def keeps_cast(name: str) -> bool:
    """False if a function gives real numbers of complex ones."""
    return name not in _REAL
