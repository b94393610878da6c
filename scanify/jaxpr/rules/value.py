"""Rules for primitives that compute: folding of index arithmetic, and simplifications for zeros and equal cases.

Only identities that hold bit for bit. `0 * x` is not 0 (x may be infinite or NaN), `x + 0.0` is not x (x may be -0.0),
`-0` is not 0.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from scanify.jaxpr.primitives import EACH, SPREAD
from scanify.jaxpr.rules import views
from scanify.jaxpr.rules.combine import add_any, plain_sum
from scanify.jaxpr.rules.convert import convert as as_dtype
from scanify.jaxpr.rules.elements import each
from scanify.jaxpr.rules.fold import ELEMENTWISE, FOLDED_ELEMENTS, convert, fold
from scanify.jaxpr.rules.rowwise import ROWWISE
from scanify.jaxpr.rules.signs import is_derivative, without_zeros

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering

# Bits of exponent and mantissa. Only formats that XLA computes in are listed.
PRECISION: dict[Any, tuple[int, int]] = {
    np.dtype(np.float64): (11, 52),
    np.dtype(np.float32): (8, 23),
    np.dtype(np.float16): (5, 10),
    np.dtype(ml_dtypes.bfloat16): (8, 7),
}


def _spread(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int]:
    """Broadcast every operand to the shape of the output, since the carry of a scan has a fixed shape."""
    table, shape = numbering.table, tuple(equation.outvars[0].aval.shape)
    if all(table.shape[value] == shape for value in inputs):
        return inputs
    ranks = [len(table.shape[value]) for value in inputs]
    if any(rank not in (0, len(shape)) for rank in ranks):
        return inputs
    return [views.broadcast(table, value, shape, range(rank)) for value, rank in zip(inputs, ranks, strict=True)]


def _elementwise(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    inputs = _spread(numbering, equation, inputs)
    answer = _folded(numbering, equation, inputs) or _unchanged(numbering, equation, inputs)
    if answer is None and numbering.tangents and not numbering.exact:
        answer = without_zeros(numbering, equation.primitive.name, inputs)
    return _each(numbering, equation, inputs) if answer is None else answer


def _each(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Apply an elementwise operation if its operands have the shape of its result."""
    table, aval = numbering.table, equation.outvars[0].aval
    inputs = _spread(numbering, equation, inputs)
    if equation.effects or any(table.shape[value] != tuple(aval.shape) for value in inputs):
        return numbering.generic(equation, inputs)
    return [each(table, equation.primitive.name, numbering.parameters(equation), inputs, aval.dtype)]


def _folded(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    table = numbering.table
    values = [table.value(number, FOLDED_ELEMENTS) for number in inputs]
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return None
    aval = equation.outvars[0].aval
    answer = fold(equation.primitive.name, known, aval.dtype)
    return None if answer is None else [table.const(answer.reshape(aval.shape))]


def _unchanged(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Simplify x * 1, x / 1 and x - 0, which are x bit for bit for real numbers."""
    table, name, dtype = numbering.table, equation.primitive.name, equation.outvars[0].aval.dtype
    if len(inputs) != 2 or not isinstance(dtype, np.dtype) or dtype.kind == "c":
        return None
    first, second = inputs
    if name in ("mul", "div") and _is_one(numbering, second) and table.dtype[first] == dtype:
        return [first]
    if name == "mul" and _is_one(numbering, first) and table.dtype[second] == dtype:
        return [second]
    return [first] if name == "sub" and table.is_zero(second) and table.dtype[first] == dtype else None


def _is_one(numbering: "Numbering", value: int) -> bool:
    table = numbering.table
    return table.op[value] == "fill" and bool(table.fill_value(value) == 1)


def _select_n(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Replace a choice between equal values by the value; fold a choice of constants."""
    if len(set(inputs[1:])) == 1:
        return [inputs[1]]
    return _elementwise(numbering, equation, inputs)


def _convert(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Drop a conversion to the same dtype. `weak_type` and `sharding` do not affect the value."""
    table, (value,) = numbering.table, inputs
    dtype = equation.outvars[0].aval.dtype
    if table.dtype[value] == dtype:
        return [value]
    known = table.value(value, FOLDED_ELEMENTS)
    answer = None if known is None else convert(known, dtype)
    if answer is not None:
        return [table.const(answer)]
    return [as_dtype(table, value, dtype)]


def _reduce_precision(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Drop rounding to the precision that the dtype already has.

    `jax.checkpoint` applies it to residuals that a policy saves, so that XLA keeps no excess precision (jax PR 22244).
    """
    dtype = equation.outvars[0].aval.dtype
    asked = (equation.params["exponent_bits"], equation.params["mantissa_bits"])
    if not isinstance(dtype, np.dtype) or dtype not in PRECISION or PRECISION[dtype] != asked:
        return _each(numbering, equation, inputs)
    return inputs


def _reduce_sum(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Simplify sums of zeros and, for cotangents, sums of a single element, to which jax transposes `x[None]`.

    0.0 + -0.0 is 0.0, so elsewhere a sum of one element is not that element.
    """
    table, (value,) = numbering.table, inputs
    aval = equation.outvars[0].aval
    unit = all(table.shape[value][axis] == 1 for axis in equation.params["axes"])
    if unit and numbering.cotangents and not numbering.exact and is_derivative(numbering, value):
        table.zeros_left_out += 1
        return [views.reshape(table, value, tuple(aval.shape))]
    if table.is_zero(value):
        return [table.zeros(tuple(aval.shape), aval.dtype)]
    return ROWWISE["reduce_sum"](numbering, equation, inputs)


def _iota(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """0, 1, 2, ... along one axis, as a constant repeated along the others."""
    aval, axis = equation.outvars[0].aval, equation.params["dimension"]
    shape = tuple(aval.shape)
    if inputs or shape[axis] > views.ROWS or not isinstance(aval.dtype, np.dtype):
        return None
    table = numbering.table
    line = np.arange(shape[axis], dtype=np.int64)
    as_dtype = convert(line, aval.dtype)
    if as_dtype is None:
        return None
    return [views.broadcast(table, table.const(as_dtype), shape, (axis,))]


def _add_any(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Sum cotangents: in any order if they belong to outputs, or in the order written if the call differentiates."""
    table = numbering.table
    if any(is_derivative(numbering, value) for value in inputs):
        return [add_any(table, inputs)]
    rest = [value for value in inputs if not table.is_zero(value)] or inputs[:1]
    if len(rest) == 2 or (numbering.exact and not table.is_zero(rest[0])):
        return [plain_sum(table, *inputs)]
    table.zeros_left_out += not table.is_zero(rest[0])
    return rest


VALUES: dict[str, Callable[["Numbering", Any, list[int]], list[int] | None]] = {
    **dict.fromkeys(EACH, _each),
    **dict.fromkeys([*ELEMENTWISE, *SPREAD], _elementwise),
    "select_n": _select_n,
    "convert_element_type": _convert,
    "reduce_precision": _reduce_precision,
    "reduce_sum": _reduce_sum,
    "iota": _iota,
    "add_any": _add_any,
}
