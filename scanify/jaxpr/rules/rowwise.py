"""Rules for row operations (`rows`): products, reductions, cumulative operations, sorting, threefry keys and bits."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from scanify.jaxpr.rules import views
from scanify.jaxpr.rules.combine import add_any
from scanify.jaxpr.rules.elements import PIECES
from scanify.jaxpr.rules.move import row
from scanify.jaxpr.rules.rows import ALONG, KEYED, REDUCTIONS, Lines, ends_along, rows
from scanify.jaxpr.rules.signs import is_derivative
from scanify.jaxpr.table import Table

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering

Rule = Callable[["Numbering", Any, list[int]], "list[int] | None"]
Pairs = tuple[tuple[int, int], ...]


def _key(numbering: "Numbering", equation: Any, *without: str) -> Hashable:
    """Return the parameters that the lines do not determine."""
    parameters: Any = numbering.parameters(equation)
    return tuple(each for each in parameters if each[0] not in without)


def _adds_up(numbering: "Numbering", values: Sequence[int]) -> bool:
    """True if a sum accumulates cotangents, whose order is unspecified (`combine.add_any`).

    Sums in a custom backward rule keep their order.
    """
    derived = numbering.cotangents and not numbering.exact and not numbering.enclosing.in_written_rule()
    return bool(derived) and any(is_derivative(numbering, value) for value in values)


def _layers(table: Table, value: int, axis: int) -> int:
    """Return the number of rows along an axis if each is a separate piece; otherwise 0."""
    ends = ends_along(table, value, axis)
    return len(ends) if len(ends) == table.shape[value][axis] <= PIECES else 0


def _dot_general(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    (first, second), (batch, other) = equation.params["dimension_numbers"]
    dtype, precision = equation.outvars[0].aval.dtype, equation.params["precision"]
    same = precision is None or (isinstance(precision, tuple) and precision[0] is precision[1])
    key = same, _key(numbering, equation, "dimension_numbers", "preferred_element_type")
    contracted, batched = (tuple(zip(*pair, strict=True)) for pair in ((first, second), (batch, other)))
    return [_product(numbering, key, dtype, (inputs[0], inputs[1]), contracted, batched)]


def _product(
    numbering: "Numbering",
    key: tuple[bool, Hashable],
    dtype: Any,
    values: tuple[int, int],
    contracted: Pairs,
    batched: Pairs,
) -> int:
    """Return a product; `key` says whether both factors have the same precision, and holds all other parameters.

    A contraction over an axis of concatenated layers accumulates the cotangents of shared values.
    """
    table = numbering.table
    for pair in contracted if _adds_up(numbering, values) else ():
        count = max(_layers(table, value, axis) for value, axis in zip(values, pair, strict=True))
        if count:
            table.zeros_left_out += 1
            parts = [(row(table, values[0], i, pair[0]), row(table, values[1], i, pair[1])) for i in range(count)]
            rest, along = (
                tuple((a - (a > pair[0]), b - (b > pair[1])) for a, b in pairs if (a, b) != pair)
                for pairs in (contracted, batched)
            )
            return add_any(table, [_product(numbering, key, dtype, part, rest, along) for part in parts])
    x, y, contracted, batched = _without_unit_sums(table, *values, contracted, batched)
    ranks = len(table.shape[x]), len(table.shape[y])
    used = [{pair[side] for pair in (*contracted, *batched)} for side in (0, 1)]
    lines: Lines = (
        *batched,
        *((axis, -1) for axis in range(ranks[0]) if axis not in used[0]),
        *((-1, axis) for axis in range(ranks[1]) if axis not in used[1]),
    )
    order = [axis for _, axis in sorted(contracted)]
    summed = tuple(sorted(order).index(a) for a in order)
    return rows(table, "dot_general", (summed, *key), (x, y), lines, (dtype,))[0]


def _without_unit_sums(
    table: Table, x: int, y: int, contracted: Pairs, batched: Pairs
) -> tuple[int, int, Pairs, Pairs]:
    """Remove contracted axes of size 1 from a product, keeping at least one contracted axis."""
    while len(contracted) > 1:
        pair = next((pair for pair in contracted if table.shape[x][pair[0]] == 1), None)
        if pair is None:
            break
        x, y = row(table, x, 0, pair[0]), row(table, y, 0, pair[1])
        contracted, batched = (
            tuple((a - (a > pair[0]), b - (b > pair[1])) for a, b in pairs if (a, b) != pair)
            for pairs in (contracted, batched)
        )
    return x, y, contracted, batched


def _reduction(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    (value,), name = inputs, equation.primitive.name
    axes = tuple(int(axis) for axis in equation.params["axes"])
    key, dtype = _key(numbering, equation, "axes"), equation.outvars[0].aval.dtype
    return [_reduced(numbering, name, key, dtype, value, axes)]


def _reduced(numbering: "Numbering", name: str, key: Hashable, dtype: Any, value: int, axes: tuple[int, ...]) -> int:
    """Return a reduction over axes. A sum over an axis of concatenated layers accumulates cotangents."""
    table = numbering.table
    if name == "reduce_sum" and _adds_up(numbering, [value]):
        for axis in axes:
            count = _layers(table, value, axis)
            if count:
                table.zeros_left_out += 1
                rest = tuple(other - (other > axis) for other in axes if other != axis)
                parts = [row(table, value, i, axis) for i in range(count)]
                return add_any(table, [_reduced(numbering, name, key, dtype, p, rest) if rest else p for p in parts])
    for axis in sorted(axes, reverse=True) if not name.startswith("arg") else ():
        if table.shape[value][axis] == 1 and len(axes) > 1:
            value = row(table, value, 0, axis)
            axes = tuple(other - (other > axis) for other in axes if other != axis)
    lines = tuple((axis,) for axis in range(len(table.shape[value])) if axis not in axes)
    return rows(table, name, key, [value], lines, (dtype,))[0]


def _along(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    name = "dimension" if equation.primitive.name == "sort" else "axis"
    if name not in equation.params:
        return None
    along, shape = int(equation.params[name]), tuple(equation.outvars[0].aval.shape)
    lines = tuple(shape[axis] if axis == along else (axis,) * len(inputs) for axis in range(len(shape)))
    dtypes = tuple(variable.aval.dtype for variable in equation.outvars)
    return rows(numbering.table, equation.primitive.name, _key(numbering, equation, name), inputs, lines, dtypes)


def _keyed(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Handle operations on each threefry key by itself. For other keys, bits depend on the neighbouring keys."""
    table, (variable,), name = numbering.table, equation.outvars, equation.primitive.name
    shape, dtype = tuple(variable.aval.shape), variable.aval.dtype
    if "key<fry>" not in (str(dtype), str(table.dtype[inputs[0]])):
        return None
    keys = table.shape[inputs[0]]
    lead = len(keys) - (name == "random_wrap")
    if name == "random_fold_in" and table.shape[inputs[1]] != keys:
        if table.shape[inputs[1]]:
            return None
        inputs = [inputs[0], views.broadcast(table, inputs[1], keys, ())]
    lines = (*((axis,) * len(inputs) for axis in range(lead)), *shape[lead:])
    return rows(table, name, _key(numbering, equation), inputs, lines, (dtype,))


ROWWISE: dict[str, Rule] = {
    "dot_general": _dot_general,
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(ALONG, _along),
    **dict.fromkeys(KEYED, _keyed),
}
