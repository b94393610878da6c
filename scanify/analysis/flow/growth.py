"""The statements by which code adds to a collection that has a plain name: `outs.append(x)`, `outs += [x]`."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from scanify.analysis.flow.statements import statements_in


class How(Enum):
    """The way of adding: by a method of lists, by `+`, by a key."""

    METHOD = "method"
    PLUS = "plus"
    ENTRY = "entry"


@dataclass(frozen=True, eq=False)
class Growth:
    """One statement that adds to a collection.

    `node` is what an objection against it would point to, `names` are the places where the collection's name stands in
    it by rights, `values` what is added, `key` that of an entry. `repeated` says that it stands in a loop.
    """

    how: How
    node: ast.stmt | ast.expr
    names: tuple[ast.Name, ...]
    values: tuple[ast.expr, ...] = ()
    key: ast.expr | None = None
    repeated: bool = False


def growths(statements: Sequence[ast.AST]) -> dict[str, list[Growth]]:
    """What is added to each name by statements and by those in them, nested functions left out, in source order."""
    grown: dict[str, list[Growth]] = {}
    every = list(statements_in(statements))
    inner: set[ast.AST] = set()
    for loop in every:
        if isinstance(loop, ast.For | ast.While):
            inner.update(statements_in([*loop.body, *loop.orelse]))
    for statement in every:
        for growth in _growths(statement, statement in inner):
            grown.setdefault(growth.names[0].id, []).append(growth)
    return grown


def _growths(statement: ast.AST, repeated: bool) -> Iterator[Growth]:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=method), args=args)) if (
            method in ("append", "extend")
        ):
            yield Growth(How.METHOD, statement, (name,), tuple(args), repeated=repeated)
        case ast.AugAssign(target=ast.Name() as name, op=ast.Add(), value=value):
            yield Growth(How.PLUS, statement, (name,), _elements(value), repeated=repeated)
        case ast.Assign(
            targets=[ast.Name() as name], value=ast.BinOp(left=ast.Name() as old, op=ast.Add(), right=right)
        ) if old.id == name.id:
            yield Growth(How.PLUS, statement, (name, old), _elements(right), repeated=repeated)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _entries(target, value, repeated)
        case _:
            pass


def appended_to(statement: ast.AST, name: str) -> ast.expr | None:
    """Return the one element that a statement adds to the end of a list, None if it does anything else."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=found), "append"), [value], [])) | ast.AugAssign(
            ast.Name(id=found), ast.Add(), ast.List(elts=[value])
        ) if found == name and not isinstance(value, ast.Starred):
            return value
        case _:
            return None


def _elements(value: ast.expr) -> tuple[ast.expr, ...]:
    return tuple(value.elts) if isinstance(value, ast.List | ast.Tuple) else (value,)


def _entries(target: ast.expr, value: ast.expr, repeated: bool) -> Iterator[Growth]:
    match target:
        case ast.Subscript(value=ast.Name() as name, slice=key) if not isinstance(key, ast.Slice):
            yield Growth(How.ENTRY, target, (name,), (value,), key, repeated)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _entries(element, value, repeated)
        case _:
            pass
