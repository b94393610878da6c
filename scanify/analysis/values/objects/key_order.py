"""Dicts that are walked: jax hands on the dicts of a pytree with their keys sorted, whatever order they were made in.

A layer of a stack holds dicts as jax puts them together, as every layer does that went through `jax.jit` or
`jax.tree.map`; one that was just built still has the order of its source
(https://docs.jax.dev/en/latest/working-with-pytrees.html).
"""

import ast
from collections.abc import Iterable

from scanify.analysis.values.domain import Instance, Listed, Mapped, Value, options
from scanify.analysis.values.heap import DictCell
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def note_order(run: Interpreter, env: Env, cell: DictCell, node: ast.AST) -> None:
    """Note that a dict is walked whose keys are not shown to be in the order that jax sorts them in."""
    if not _is_sorted(cell):
        run.effect(Act.ORDER, env.code(node), node, env, born=cell.born, root=cell.node)


def _is_sorted(cell: DictCell) -> bool:
    keys: list[object] = list(cell.entries)
    if cell.groups or not cell.whole or not all(isinstance(key, str) for key in keys):
        return False
    return keys == sorted(map(str, keys))


def dicts_in(value: Value) -> frozenset[ast.AST]:
    """Where the dicts are made that a value holds."""
    found: set[ast.AST] = set()
    seen: set[int] = set()
    waiting = list(options(value))
    while waiting:
        each = waiting.pop()
        held: Iterable[Value] = ()
        if isinstance(each, Instance) and id(each.fields) not in seen:
            seen.add(id(each.fields))
            held = each.fields.values()
        elif isinstance(each, Listed | Mapped) and id(each.cell) not in seen:
            seen.add(id(each.cell))
            held = [group.element for group in each.cell.groups]
            if isinstance(each, Mapped):
                found.add(each.cell.node)
                held = [*held, *each.cell.entries.values()]
        waiting += [option for one in held for option in options(one)]
    return frozenset(found)
