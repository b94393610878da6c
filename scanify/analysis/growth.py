"""The statements by which code adds to a collection that has a plain name: `outs.append(x)`, `outs += [x]`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import libcst as cst

from scanify.analysis.blocks import blocks


class How(Enum):
    """The way of adding: by a method of lists, by `+`, by a new list or tuple with the old one in front, by a key."""

    METHOD = "method"
    PLUS = "plus"
    LIST = "list"
    TUPLE = "tuple"
    ENTRY = "entry"


@dataclass(frozen=True, eq=False)
class Growth:
    """One statement that adds to a collection.

    `node` is what an objection against it would point to, `names` are the places where the collection's name stands in
    it by rights, `values` what is added, `key` that of an entry. `repeated` says that it stands in a loop.
    """

    how: How
    node: cst.CSTNode
    names: tuple[cst.Name, ...]
    values: tuple[cst.BaseExpression, ...] = ()
    key: cst.BaseExpression | None = None
    repeated: bool = False


def growths(statements: Sequence[cst.CSTNode]) -> dict[str, list[Growth]]:
    """What is added to each name by statements and by those in them, nested functions left out, in source order."""
    found: dict[str, list[Growth]] = {}
    inner = {each for one in blocks(statements) if isinstance(one, cst.For | cst.While) for each in blocks([one])[1:]}
    for statement in blocks(statements):
        for growth in _growths(statement, statement in inner):
            found.setdefault(growth.names[0].value, []).append(growth)
    return found


def _growths(statement: cst.CSTNode, repeated: bool) -> Iterator[Growth]:
    match statement:
        case cst.Expr(
            value=cst.Call(
                func=cst.Attribute(value=cst.Name() as name, attr=cst.Name(value="append" | "extend")), args=args
            )
        ):
            yield Growth(How.METHOD, statement, (name,), tuple(arg.value for arg in args))
        case cst.AugAssign(target=cst.Name() as name, operator=cst.AddAssign(), value=value):
            yield Growth(How.PLUS, statement, (name,), _elements(value))
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)], value=value) if grown := _grown(
            name, value
        ):
            how, old, values = grown
            yield Growth(how, statement, (name, old), values)
        case cst.Assign(targets=targets, value=value):
            for target in targets:
                yield from _entries(target.target, value, repeated)
        case _:
            pass


def _grown(name: cst.Name, value: cst.BaseExpression) -> tuple[How, cst.Name, tuple[cst.BaseExpression, ...]] | None:
    """`outs + [x]`, `[*outs, x]`, `(*outs, x)`."""
    match value:
        case cst.BinaryOperation(left=cst.Name(value=name.value) as old, operator=cst.Add(), right=right):
            return How.PLUS, old, _elements(right)
        case cst.List(elements=[cst.StarredElement(value=cst.Name(value=name.value) as old), *rest]):
            return How.LIST, old, tuple(one.value for one in rest)
        case cst.Tuple(elements=[cst.StarredElement(value=cst.Name(value=name.value) as old), *rest]):
            return How.TUPLE, old, tuple(one.value for one in rest)
        case _:
            return None


def _elements(value: cst.BaseExpression) -> tuple[cst.BaseExpression, ...]:
    return tuple(one.value for one in value.elements) if isinstance(value, cst.List | cst.Tuple) else (value,)


def _entries(target: cst.BaseExpression, value: cst.BaseExpression, repeated: bool) -> Iterator[Growth]:
    match target:
        case cst.Subscript(value=cst.Name() as name, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            yield Growth(How.ENTRY, target, (name,), (value,), key, repeated)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from _entries(element.value, value, repeated)
        case _:
            pass
