"""Operations that keep the shape and the dtype of a carry."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from scanify.analysis.language import tables
from scanify.analysis.language import types as t

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
"""Suffix for a shape that differs from a carry's at most in the size of one axis.

If equal layers are applied one after another, that size is the one that each of them expects.
"""
_DTYPE_AT = {"asarray": 1, "array": 1, "zeros": 1, "ones": 1, "empty": 1, "full": 2, "convert_element_type": 1}
_CASTS = {
    **dict.fromkeys("fft ifft fft2 ifft2 fftn ifftn rfft rfft2 rfftn ihfft complex complex64".split(), "complex"),
    **dict.fromkeys("isfinite isnan isinf logical_and logical_or logical_not logical_xor isclose isin".split(), "bool"),
    **dict.fromkeys("greater greater_equal less less_equal equal not_equal signbit".split(), "bool"),
    **dict.fromkeys("arange argmax argmin argsort searchsorted".split(), "int32"),
}
"""The dtypes of functions whose result has one dtype, whatever the arguments."""
_REAL = frozenset("abs absolute real imag angle irfft irfft2 irfftn hfft".split())


def with_arrays(value: t.Type, change: Callable[[t.Array], t.Array]) -> t.Type:
    """Replace each array of a value by `change(array)`."""
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


def weakened(value: t.Array) -> t.Array:
    """Return the result of a product with a matrix."""
    known = value.shape is not None and not value.shape.endswith(LAST_AXIS)
    return replace(value, shape=f"{value.shape}{LAST_AXIS}") if known else value


def cast_of(name: str, args: t.Types, keywords: t.Named, arrays: Sequence[t.Array] = ()) -> str | None:
    """Return the dtype of an explicit cast by a function, or of its arguments; None if there is none."""
    at = _DTYPE_AT.get(name, len(args))
    given = [keywords[key] for key in ("dtype", "preferred_element_type", "new_dtype") if key in keywords]
    for value in (*given, *args[at : at + 1]):
        return dtype_of(value)
    if name in _CASTS or name in tables.DTYPES:
        return _CASTS.get(name, name)
    return None if name in _REAL else result_cast(arrays)


def dtype_of(value: t.Type) -> str | None:
    """Return the name of a dtype passed as an argument; None for `x.dtype`."""
    match value:
        case t.Nothing():
            return None
        case t.LibraryFunction(qualname=qualname):
            text = qualname.rpartition(".")[2]
        case t.Static(text=str(text)):
            text = text.strip("'\"")
        case _:
            text = "another"
    return None if text.startswith("dtype:") else "complex" if "complex" in text else text


def result_cast(arrays: Sequence[t.Array]) -> str | None:
    """Return the dtype that the result of an operation keeps from casts of arrays; floats prevail over integers."""
    casts = [each.cast for each in arrays]
    kept = (cast for cast in casts if cast and not cast.startswith(("bool", "int", "uint")))
    return casts[0] if len(casts) == 1 else "complex" if "complex" in casts else next(kept, None)
