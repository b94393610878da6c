"""How long the first axis of an array is, where its numbers stand in the source."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.values.domain import Const, Listed, Value

_OF_A_SHAPE = {"zeros": 0, "ones": 0, "empty": 0, "full": 0, "normal": 1, "uniform": 1, "truncated_normal": 3}
"""Functions that are given a shape, with its place among their arguments."""
_OF_A_LIST = frozenset({"array", "asarray", "stack", "vstack"})
_LINSPACE = 50  # numbers that numpy.linspace gives, where it is not said how many


def rows_made(last: str, positional: Sequence[Value], named: Mapping[str, Value]) -> int | None:
    """How many rows an array has that a function of numpy, `jax.numpy` or `jax.random` makes; None where unknown."""
    if last in _OF_A_SHAPE:
        place = _OF_A_SHAPE[last]
        return _first_of(named.get("shape", positional[place] if len(positional) > place else None))
    if last == "arange" and not named:
        numbers = [_integer(each) for each in positional]
        known = [each for each in numbers if each is not None]
        return len(range(*known)) if len(known) == len(numbers) in (1, 2) else None
    if last == "linspace":
        count = named.get("num", positional[2] if len(positional) > 2 else Const(_LINSPACE))
        return _integer(count) if "axis" not in named else None
    if last in _OF_A_LIST and len(positional) == 1 and isinstance(positional[0], Listed) and "axis" not in named:
        return positional[0].cell.length()
    return None


def rows_of_part(rows: int | None, part: ast.Slice) -> int | None:
    """How many rows `array[part]` has of so many."""
    bounds = [_bound(each) for each in (part.lower, part.upper, part.step)]
    if rows is None or any(known is False for known in bounds) or bounds[2] == 0:
        return None
    return len(range(rows)[slice(*bounds)])


def _bound(node: ast.expr | None) -> int | bool | None:
    """A number of a slice, None where there is none, False where it is not known."""
    match node:
        case None:
            return None
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case _:
            return False


def _first_of(shape: Value | None) -> int | None:
    if isinstance(shape, Listed):
        groups = shape.cell.groups
        return _integer(groups[0].element) if groups and groups[0].count == 1 and shape.cell.whole else None
    return _integer(shape)


def _integer(value: Value | None) -> int | None:
    known = value.value if isinstance(value, Const) else None
    if isinstance(known, float) and known.is_integer():
        known = int(known)
    return known if isinstance(known, int) and not isinstance(known, bool) else None
