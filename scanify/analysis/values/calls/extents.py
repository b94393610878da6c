"""Numbers that are made of the lengths of a carry's axes, and what is cut or asked for by them.

`n // 2` for `n = x.shape[0]` is shorter than the axis: `x[: n // 2]`, `jax.image.resize(x, (c, 2 * h, 2 * w), method)`.
"""

import ast
from collections.abc import Sequence

from scanify.analysis.values.domain import Array, Const, Listed, Number, Unknown, Value
from scanify.analysis.values.size import LONGER, SAME, SHORTER, Change, Extent

_EITHER_WAY: dict[type[ast.operator], Change] = {ast.Mult: LONGER, ast.Add: LONGER}
_BY: dict[type[ast.operator], Change] = {
    **_EITHER_WAY,
    ast.LShift: LONGER,
    ast.FloorDiv: SHORTER,
    ast.Div: SHORTER,
    ast.RShift: SHORTER,
    ast.Sub: SHORTER,
}


def extent_of(value: Value | None) -> Extent | None:
    """What a value has to do with the lengths of a carry's axes."""
    return value.extent if isinstance(value, Number | Unknown) else None


def made_of(left: Value, op: ast.operator, right: Value) -> Extent | None:
    """What an operation makes of such a length and a number that stands in the source: `n // 2`, `2 * n`, `n - 1`."""
    extent, by, changes = extent_of(left), right, _BY
    if extent is None:
        extent, by, changes = extent_of(right), left, _EITHER_WAY
    if extent is None or not isinstance(by, Const) or type(by.value) is not int:
        return None
    least = 1 if isinstance(op, ast.Add | ast.Sub | ast.LShift | ast.RShift) else 2
    return extent.moved(changes.get(type(op))) if by.value >= least else None


def cut_by(lower: Value | None, upper: Value | None, of: frozenset[str]) -> bool:
    """Whether a slice with these bounds leaves something out of an axis of a carry: `[: n // 2]`, `[n // 2 :]`."""
    front, back = extent_of(lower), extent_of(upper)
    if front is not None and front.of == of and front.change in (SAME, SHORTER) and upper is None:
        return True
    return back is not None and back.of == of and back.change == SHORTER


def is_shape_of_carry(value: Value | None) -> frozenset[str] | None:
    """The carries whose shape a value is: `x.shape`."""
    extent = extent_of(value)
    return extent.of if extent is not None and extent.whole else None


def asked_for(array: Value | None, sizes: Sequence[Value]) -> tuple[Change, Change]:
    """How the lengths of axes that a call asks for differ from those of an array: along its axes, and as a whole."""
    size = array.size if isinstance(array, Array) else None
    extents = [extent_of(each) for each in sizes]
    if size is None or size.extent is None or any(each is None or each.of != size.of for each in extents):
        return None, None
    changes = {each.change for each in extents if each is not None}
    if {LONGER, SHORTER} <= changes or not changes:
        return None, None
    change = next((each for each in changes if each != SAME), SAME)
    return change, change


def listed(shape: Value | None) -> Sequence[Value]:
    """The lengths of axes in a tuple or a list; nothing where not all of them are shown."""
    if not isinstance(shape, Listed) or not shape.cell.whole:
        return ()
    return [group.element for group in shape.cell.groups]
