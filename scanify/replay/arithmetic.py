"""Rules for arithmetic: evaluation of known integers and booleans, and operations that change no bit."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanify.jaxpr.primitives import SPREAD
from scanify.replay import moves, pointwise
from scanify.replay.reshape import reshape
from scanify.replay.rules import Rule, Run, ints
from scanify.replay.values import Atom, dtype_of

Numbers = np.ndarray[Any, Any]
_EXPONENT_AND_MANTISSA = {"float64": (11, 52), "float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}


def _toward_zero(x: Numbers, y: Numbers) -> Numbers:
    found: Numbers = np.where((x < 0) & (x % y != 0), x // y + 1, x // y)
    return found


# Exact operations on integers and booleans. Integers wrap.
_EXACT: dict[str, Callable[..., Numbers]] = {
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
    "div": _toward_zero,
    "rem": lambda x, y: x - _toward_zero(x, y) * y,
    "sign": np.sign,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}


def _elementwise(run: Run, operands: list[int]) -> list[int] | None:
    run.operands = operands = _spread(run, operands)
    found = _folded(run, operands)
    if found is None:
        found = _unchanged(run, operands)
    if found is None and run.tangents and not run.signs and run.equation.name in ("add", "sub"):
        found = _without_zeros(run, operands)
    return found


def _spread(run: Run, operands: list[int]) -> list[int]:
    """Broadcast operands of rank 0 or with dimensions of size 1 to the shape of the output."""
    shape, values = run.equation.outputs[0].shape, run.values
    shapes = [values[each].shape for each in operands]
    if all(each == shape for each in shapes) or any(len(each) not in (0, len(shape)) for each in shapes):
        return operands
    return [moves.broadcast(values, each, shape, range(len(values[each].shape))) for each in operands]


def _folded(run: Run, operands: Sequence[int]) -> list[int] | None:
    name, aval = run.equation.name, run.equation.outputs[0]
    known = [run.values.constant(each) for each in operands]
    given = [each for each in known if each is not None]
    kind = dtype_of(aval.dtype)
    if len(given) < len(known) or kind is None:
        return None
    if name == "select_n":
        if given[0].dtype != np.bool_ or len(given) != 3:
            return None
        return [run.values.const(np.where(given[0], given[2], given[1]).astype(kind), aval.dtype)]
    function = _EXACT.get(name)
    if function is None or any(each.dtype.kind not in "biu" for each in (*given, np.zeros(0, kind))):
        return None
    if name == "clamp" and (kind == np.bool_ or not np.all(given[0] <= given[2])):
        return None  # the result is unspecified if the bounds cross
    if name in ("div", "rem") and not np.all(given[1] > 0):
        return None
    with np.errstate(over="ignore"):
        found = function(*(np.atleast_1d(each) for each in given))
    return None if found.dtype != kind else [run.values.const(found.reshape(aval.shape), aval.dtype)]


def _unchanged(run: Run, operands: Sequence[int]) -> list[int] | None:
    """Simplify x * 1, x / 1 and x - 0, which return x bit for bit for real numbers."""
    name, aval = run.equation.name, run.equation.outputs[0]
    kind = dtype_of(aval.dtype)
    if len(operands) != 2 or kind is None or kind.kind == "c":
        return None
    for kept, other in ((operands[0], operands[1]), (operands[1], operands[0])):
        if run.values[kept].dtype != aval.dtype or (name != "mul" and kept != operands[0]):
            continue
        if (name in ("mul", "div") and _is_one(run, other)) or (name == "sub" and run.values.is_zero(other)):
            return [kept]
        if name != "mul":
            break
    return None


def _is_one(run: Run, number: int) -> bool:
    value, kind = run.values[number], dtype_of(run.values[number].dtype)
    one = len(value.pieces) == 1 and value.pieces[0][1][0] == "is" and kind is not None and kind.itemsize
    return bool(one and np.frombuffer(value.pieces[0][1][1], kind, 1)[0] == 1)


def _without_zeros(run: Run, operands: Sequence[int]) -> list[int] | None:
    """Return a tangent if zeros are added to it or subtracted from it."""
    first, second = operands
    for kept, other in ((first, second), (second, first))[: 2 if run.equation.name == "add" else 1]:
        if run.values.is_zero(other) and run.marks.whole(kept):
            run.left_out += 1
            return [kept]
    return None


def _select_n(run: Run, operands: list[int]) -> list[int] | None:
    """A choice between equal arrays is that array."""
    return [operands[1]] if len(set(operands[1:])) == 1 else _elementwise(run, operands)


def _convert(run: Run, operands: list[int]) -> list[int] | None:
    (number,), dtype = operands, run.equation.outputs[0].dtype
    if run.values[number].dtype == dtype:
        return [number]
    known, kind = run.values.constant(number), dtype_of(dtype)
    if known is not None and kind is not None and known.dtype.kind != "c" and kind != np.bool_:
        with np.errstate(all="ignore"):
            there = known.astype(kind)
            back = there.real.astype(known.dtype)
        if back.tobytes() == known.tobytes():
            return [run.values.const(there, dtype)]
    return [pointwise.cast(run.values, number, dtype)]


def _reduce_precision(run: Run, operands: list[int]) -> list[int] | None:
    """Drop a reduction to the precision that the dtype already has."""
    params = run.equation.params
    asked = (params.get("exponent_bits"), params.get("mantissa_bits"))
    return operands if _EXPONENT_AND_MANTISSA.get(run.equation.outputs[0].dtype) == asked else None


def _reduce_sum(run: Run, operands: list[int]) -> list[int] | None:
    """A sum of zeros is zero; a sum of a single cotangent is the cotangent."""
    (number,), aval = operands, run.equation.outputs[0]
    shape = run.values[number].shape
    single = all(shape[axis] == 1 for axis in ints(run.equation.params["axes"]))
    if single and run.cotangents and not run.signs and run.marks.whole(number):
        run.left_out += 1
        return [reshape(run.values, number, aval.shape)]
    return [run.values.zeros(aval.shape, aval.dtype)] if run.values.is_zero(number) else None


def _iota(run: Run, operands: list[int]) -> list[int] | None:
    aval, axis = run.equation.outputs[0], run.equation.params["dimension"]
    kind = dtype_of(aval.dtype)
    if operands or kind is None or not 0 < aval.shape[axis] <= moves.ROWS or 0 in aval.shape:
        return None
    line = np.arange(aval.shape[axis])
    given = line.astype(kind)
    if kind.kind == "c" or kind == np.bool_ or given.astype(line.dtype).tobytes() != line.tobytes():
        return None
    return [moves.broadcast(run.values, run.values.const(given, aval.dtype), aval.shape, (axis,))]


def _add_any(run: Run, operands: list[int]) -> list[int] | None:
    """Sum cotangents. Sums that the program itself differentiates keep the order in which they are written."""
    if any(map(run.marks, operands)):
        found, left_out = pointwise.total(run.values, operands, run.marks.term, signs=run.signs)
        run.left_out += left_out
        return [found]
    kept = [each for each in operands if not run.values.is_zero(each)] or operands[:1]
    if len(kept) < len(operands) and not run.signs and run.marks.loosen(kept[0]):
        run.left_out += 1
        return [kept[0]]
    return [pointwise.plus(run.values, operands)]


def _dot_general(run: Run, operands: list[int]) -> list[int] | None:
    """Normalise a product: in each factor, batch axes come first, then contracted axes, then the others.

    Factors of equal precision are sorted by digest, and the axes of the result are permuted accordingly.
    """
    given, values, aval = run.equation.params, run.values, run.equation.outputs[0]
    summed, batched = ([ints(side) for side in pair["tuple"]] for pair in given["dimension_numbers"]["tuple"])
    factors = []
    for number, sides in zip(operands, zip(batched, summed, strict=True), strict=True):
        first = [*sides[0], *sides[1]]
        rest = [axis for axis in range(len(values[number].shape)) if axis not in first]
        factors.append(moves.transpose(values, number, [*first, *rest]))
    lead = len(batched[0])
    free = [len(values[each].shape) - lead - len(summed[0]) for each in factors]
    precision = given["precision"]
    turned = (precision is None or precision["tuple"][0] == precision["tuple"][1]) and (
        run.digests.of(factors[:1]) > run.digests.of(factors[1:])
    )
    order = [*range(lead), *range(lead + free[0], lead + sum(free)), *range(lead, lead + free[0])]
    shape = tuple(aval.shape[axis] for axis in order) if turned else aval.shape
    params = json.dumps([lead, len(summed[0]), precision], sort_keys=True)
    found = values.atom(Atom("product", params, tuple(factors[::-1] if turned else factors), 0, shape, aval.dtype))
    return [moves.transpose(values, found, sorted(range(len(order)), key=order.__getitem__)) if turned else found]


ARITHMETIC: dict[str, Rule] = {
    **dict.fromkeys([*_EXACT, *SPREAD], _elementwise),
    "select_n": _select_n,
    "convert_element_type": _convert,
    "reduce_precision": _reduce_precision,
    "reduce_sum": _reduce_sum,
    "iota": _iota,
    "add_any": _add_any,
    "dot_general": _dot_general,
}
