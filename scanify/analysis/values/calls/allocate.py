"""Allocations: new lists and dicts, and what is put into them."""

import ast

from scanify.analysis.lower.nodes import nodes_below
from scanify.analysis.values.domain import Const, Listed, Mapped, Unknown, Value, options
from scanify.analysis.values.heap import DictCell, Does, Group, ListCell
from scanify.analysis.values.objects.part import part_of
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def new_list(run: Interpreter, env: Env, node: ast.AST, *, is_tuple: bool = False) -> ListCell:
    """A list that is allocated here."""
    return ListCell(node, env.module, run.tick(), function=env.function, is_tuple=is_tuple)


def new_dict(run: Interpreter, env: Env, node: ast.AST) -> DictCell:
    """A dict that is allocated here."""
    return DictCell(node, env.module, run.tick(), function=env.function)


def keep(run: Interpreter, env: Env, value: Value, node: ast.AST, holder: ast.AST) -> None:
    """Note that a list becomes a part of another object, which then is one more way to it."""
    if run.unpacking is not None and holder in nodes_below(run.unpacking):
        return  # a tuple that is taken apart in the same statement
    for option in options(value):
        if isinstance(option, Listed | Mapped):
            run.use(option.cell, Does.STORE, node, env)


def spread_dict(cell: DictCell, value: Value, node: ast.AST, env: Env) -> None:
    """Put all that a value holds into a dict."""
    if isinstance(value, Mapped):
        cell.entries.update(value.cell.entries)
        cell.groups += value.cell.groups
        cell.whole = cell.whole and value.cell.whole
    else:
        hide(cell, value, node, env)


def hide(cell: DictCell, value: Value, node: ast.AST, env: Env) -> None:
    """Note that a dict holds parts of something of which nothing is known."""
    cell.whole, cell.why = False, value.why if isinstance(value, Unknown) else "a part of the dict is not shown"
    cell.why_at = env.place(node)
    cell.groups = [group for group in cell.groups if group.node is not node]
    cell.groups.append(Group(Unknown(cell.why, cell.why_at), node, env.module, (), None, spread=True))


def store_entry(
    cell: DictCell,
    key: Value,
    value: Value,
    node: ast.AST,
    env: Env,
    loops: tuple[int, ...] = (),
    count: int | None = 1,
    conditional: bool = False,
    own: bool = False,
) -> None:
    """Put a value into a dict; `own` says that it is made for its place there."""
    if isinstance(key, Const) and not key.marks and not loops:
        cell.entries[key.value] = value
    else:
        cell.groups = [group for group in cell.groups if group.node is not node]
        cell.groups.append(Group(value, node, env.module, loops, count, False, conditional, own, part_of(value)))
