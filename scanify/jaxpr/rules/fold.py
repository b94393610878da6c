"""Fold arithmetic on small integer and boolean constants with numpy: indices of layers, and nothing that rounds.

jnp computes `x[i]` as `select_n(i < 0, i, i + n)`; a scan over `arange(n)` reads i from an array, possibly modulo a
period. Folding turns all of it into the constant that a loop has. jax is not used, since evaluation would run compiled
code for each index.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Larger constants are not index arithmetic.
FOLDED_ELEMENTS = 4096


def _quotient(x: Array, y: Array) -> Array:
    """Divide, rounding towards zero; y is positive."""
    quotient: Array = (x - np.fmod(x, y)) // y
    return quotient


# Elementwise operations on operands of one shape or scalars. Integers wrap in numpy as in XLA.
ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "max": np.maximum,
    "min": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "div": _quotient,
    "rem": np.fmod,
    "sign": np.sign,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}


def exact(dtype: Any) -> bool:
    """True if arithmetic on the dtype is exact: integers and booleans of numpy."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biu"


def fold(op: str, values: list[Array], dtype: Any) -> Array | None:
    """Evaluate an elementwise operation on integer or boolean constants, or return None if it is not supported."""
    if op == "select_n":
        return _select(values, dtype)
    function = ELEMENTWISE.get(op)
    if function is None or not exact(dtype) or not all(exact(value.dtype) for value in values):
        return None
    if op == "clamp" and (dtype == np.bool_ or not np.all(values[0] <= values[2])):
        return None  # XLA orders booleans by the sign of one bit, and does not specify which bound wins if they cross
    if op in ("div", "rem") and not np.all(values[1] > 0):
        return None  # XLA defines division by zero; -1 is excluded since the quotient of the least integer overflows
    with np.errstate(over="ignore"):
        answer = function(*(np.atleast_1d(value) for value in values))
    if answer.dtype != dtype:
        return None
    shape = np.broadcast_shapes(*(value.shape for value in values))
    return answer.reshape(shape)


def _select(values: list[Array], dtype: Any) -> Array | None:
    which, *cases = values
    if which.dtype != np.bool_ or len(cases) != 2 or not isinstance(dtype, np.dtype):
        return None
    return np.where(which, cases[1], cases[0]).astype(dtype)


def convert(value: Array, dtype: Any) -> Array | None:
    """Convert a constant to another dtype; None unless every element survives the round trip and none is NaN."""
    if not isinstance(dtype, np.dtype) or value.dtype.kind == "c" or dtype == np.bool_:
        return None
    if "float8_e8m0fnu" in (value.dtype.name, dtype.name) or not np.array_equal(value, value):
        return None  # e8m0 has neither zero nor sign; the bits of a NaN in another dtype are unspecified
    with np.errstate(all="ignore"):
        answer = value.astype(dtype)
        back = answer.real.astype(value.dtype)  # real numbers have no imaginary part to lose
    return answer if back.tobytes() == value.tobytes() else None
