"""How many layers there are where all callers leave their number at its default: `def __init__(self, size, n=2)`."""

import ast

from scanify.analysis.index import Index
from scanify.analysis.loops.lists.calls import called_name, calls_of, defaults_of
from scanify.analysis.loops.lists.counted import counted
from scanify.analysis.loops.lists.layer_list import FEW
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.values.heap import ListCell


def usual_length(index: Index, cell: ListCell) -> tuple[int, str] | None:
    """The number of elements, if few, and the parameter that says it; None where no call leaves it, or one may not."""
    number, function = counted(cell), cell.function
    if number is None or not isinstance(function, ast.FunctionDef):
        return None
    args = function.args
    positional = [each.arg for each in (*args.posonlyargs, *args.args)]
    match defaults_of(args).get(number.base):
        case ast.Constant(value=int(usual)) if not isinstance(usual, bool):
            pass
        case _:
            return None
    around = parent_of(cell.module, function)
    owner = around if isinstance(around, ast.ClassDef) else None
    name = owner.name if owner is not None and function.name == "__init__" else function.name
    at = positional.index(number.base) - (owner is not None) if number.base in positional else None
    few = usual + number.more < FEW
    calls = [call for _, call in calls_of(index, name, "__init__", "partial")] if few else []
    if not any(called_name(each) == name for each in calls) or any(_gives(each, number.base, at) for each in calls):
        return None
    return usual + number.more, number.base


def _gives(call: ast.Call, name: str, at: int | None) -> bool:
    """Whether a call gives a parameter a value, or may."""
    if any(each.arg in (name, None) for each in call.keywords) or any(
        isinstance(each, ast.Starred) for each in call.args
    ):
        return True
    return at is not None and len(call.args) > at
