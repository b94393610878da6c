"""`copy.copy` and `copy.deepcopy`: other objects with the same in them, or with copies of all that is in them; and
`jax.tree.map`, which makes a copy of a tree with what a function gives for each leaf.
"""

import ast
from collections.abc import Callable, Mapping, Sequence

from scanify.analysis.values.domain import (
    Array,
    Function,
    Instance,
    Listed,
    Mapped,
    OneOf,
    Partial,
    Value,
    marked,
    options,
)
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.marks import Marks, Vary
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.size import Size


class Copying:
    """One copy of a value: what is met twice is copied once. `deep` goes into what objects and lists hold, `leaf` makes
    other arrays of those that are made from a carry."""

    def __init__(self, run: Interpreter, deep: bool, leaf: Callable[[Array, Size], Value] | None = None) -> None:
        self._run, self._deep, self._leaf = run, deep, leaf
        self._born = run.tick()
        self._made: dict[int, object] = {}

    def of(self, value: Value) -> Value:
        """The copy of an object, a list or a dict; what is no object of its own is the same."""
        match value:
            case OneOf():
                return replace(value, options=tuple(self.of(each) for each in value.options))
            case Instance():
                return replace(value, fields=self._fields(value.fields, value.marks), born=self._born, taken=None)
            case Listed():
                return replace(value, cell=self._list(value.cell))
            case Mapped():
                return replace(value, cell=self._dict(value.cell))
            case Array(size=Size() as size) if self._leaf is not None:
                return self._leaf(value, size)
            case Array():
                return replace(value, born=self._born)
            case _:
                return value

    def _inner(self, value: Value) -> Value:
        return self.of(value) if self._deep else value

    def _fields(self, fields: dict[str, Value], marks: Marks) -> dict[str, Value]:
        known = self._made.get(id(fields))
        if isinstance(known, dict):
            return known
        made: dict[str, Value] = {}
        self._made[id(fields)] = made
        differs = tuple(mark for mark in marks if mark.how > Vary.CARRY_SHAPE)  # another object has others
        made.update({name: marked(self._inner(value), differs) for name, value in list(fields.items())})
        return made

    def _list(self, cell: ListCell) -> ListCell:
        known = self._made.get(id(cell))
        if isinstance(known, ListCell):
            return known
        made = replace(cell, born=self._born, grown=list(cell.grown))
        self._made[id(cell)] = made
        made.groups = [self._group(group) for group in cell.groups]
        return made

    def _dict(self, cell: DictCell) -> DictCell:
        known = self._made.get(id(cell))
        if isinstance(known, DictCell):
            return known
        made = replace(cell, born=self._born, grown=list(cell.grown))
        self._made[id(cell)] = made
        made.entries = {key: self._inner(each) for key, each in cell.entries.items()}
        made.groups = [self._group(group) for group in cell.groups]
        return made

    def _group(self, group: Group) -> Group:
        return replace(group, element=self._inner(group.element), part=group.part if not self._deep else None)


def tree_mapped(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Mapping[str, Value]
) -> Value | None:
    """`jax.tree.map(function, tree)`: the tree anew, where the function gives an array for arrays; None elsewhere. Of
    an array it is what the function gives.

    With the leaves of equal layers it does the same, so that they stay equal.
    """
    from scanify.analysis.values.calls.calls import call

    if len(positional) < 2 or named or not isinstance(positional[0], Function | Partial):
        return None
    tree = positional[1]
    if not isinstance(tree, Array | Instance | Listed | Mapped):
        return None
    with run.recording():
        if isinstance(tree, Array):
            return call(run, env, node, positional[0], positional[1:], {})
        given = call(run, env, node, positional[0], [Array() for _ in positional[1:]], {})
    if not all(isinstance(option, Array) for option in options(given)):
        return None

    def mapped(array: Array, size: Size) -> Value:
        if len(positional) > 2:
            return replace(array, size=size.lost(env.code(node), env.place(node)))
        with run.recording():
            return call(run, env, node, positional[0], [array], {})

    return Copying(run, True, mapped).of(tree)
