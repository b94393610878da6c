"""Allocations: new lists and dicts, and what is put into them."""

import ast

from scanify.analysis.values.domain import (
    Const,
    Listed,
    Mapped,
    Value,
    options,
)
from scanify.analysis.values.environment import Env
from scanify.analysis.values.heap import DictCell, Does, Group, ListCell
from scanify.analysis.values.interpreter import Interpreter


def new_list(run: Interpreter, env: Env, node: ast.AST, *, is_tuple: bool = False) -> ListCell:
    """A list that is allocated here."""
    return ListCell(node, env.module, run.tick(), function=env.function, is_tuple=is_tuple)


def new_dict(run: Interpreter, env: Env, node: ast.AST) -> DictCell:
    """A dict that is allocated here."""
    return DictCell(node, env.module, run.tick(), function=env.function)


def keep(run: Interpreter, env: Env, value: Value, node: ast.AST, holder: ast.AST) -> None:
    """Note that a list becomes a part of another object, which then is one more way to it."""
    if run.unpacking is not None and any(holder is each for each in ast.walk(run.unpacking)):
        return  # a tuple that is taken apart in the same statement
    for option in options(value):
        if isinstance(option, Listed | Mapped):
            run.use(option.cell, Does.STORE, node, env)


def spread_dict(cell: DictCell, value: Value) -> None:
    if isinstance(value, Mapped):
        cell.entries.update(value.cell.entries)
        cell.groups += value.cell.groups
        cell.whole = cell.whole and value.cell.whole
    else:
        cell.whole, cell.why = False, "a part of the dict is not shown"


def store_entry(
    cell: DictCell,
    key: Value,
    value: Value,
    node: ast.AST,
    env: Env,
    loops: tuple[int, ...] = (),
    count: int | None = 1,
    conditional: bool = False,
) -> None:
    """Put a value into a dict."""
    if isinstance(key, Const) and not key.marks and not loops:
        cell.entries[key.value] = value
    else:
        cell.groups = [group for group in cell.groups if group.node is not node]
        cell.groups.append(Group(value, node, env.module, loops, count, conditional=conditional))
