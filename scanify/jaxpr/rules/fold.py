"""Arithmetic on small integer and boolean constants, by numpy: indices of layers, and nothing that rounds.

jnp computes `x[i]` as `select_n(i < 0, i, i + n)`; a scan over `arange(n)` reads its i from an array, and may take it
modulo a period. Folding makes all of it the number that a loop writes. jax is not asked: evaluating would run
compiled code for each index.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Larger constants are not index arithmetic.
FOLDED_ELEMENTS = 4096


def _quotient(x: Array, y: Array) -> Array:
    """Rounded towards zero; y is positive."""
    quotient: Array = (x - np.fmod(x, y)) // y
    return quotient


# Elementwise, operands of one shape or scalars. Integers wrap as in XLA, which numpy arrays do too.
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
    """Whether arithmetic on the dtype is exact: integers and booleans of numpy's own kinds."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biu"


def fold(op: str, values: list[Array], dtype: Any) -> Array | None:
    """The value of an elementwise operation on integer or boolean constants, or None where that is not ours."""
    if op == "select_n":
        return _select(values, dtype)
    function = ELEMENTWISE.get(op)
    if function is None or not exact(dtype) or not all(exact(value.dtype) for value in values):
        return None
    if op == "clamp" and (dtype == np.bool_ or not np.all(values[0] <= values[2])):
        return None  # XLA orders booleans by the sign of one bit, and leaves it open which end wins where they cross
    if op in ("div", "rem") and not np.all(values[1] > 0):
        return None  # by zero it is what XLA makes of it, and -1 has no quotient with the least integer
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
    """The constant in another dtype, where every element survives the way there and back, and none is NaN."""
    if not isinstance(dtype, np.dtype) or value.dtype.kind == "c" or dtype == np.bool_:
        return None
    if "float8_e8m0fnu" in (value.dtype.name, dtype.name) or not np.array_equal(value, value):
        return None  # which has neither zero nor sign; and a NaN of another dtype has bits that nothing says
    with np.errstate(all="ignore"):
        answer = value.astype(dtype)
        back = answer.real.astype(value.dtype)  # which of real numbers is all there is
    return answer if back.tobytes() == value.tobytes() else None
