"""Names that a loop's body computes anew in every iteration and that are read after the loop: their last values.

Such a name can be one more carry, which no layer reads. Before the first layer it is whatever the name stood for, so
that an empty list, or a layer that computes no such value, leaves it as the loop does.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.around import path_to
from scanify.analysis.flow.names import Names, flow, reads
from scanify.analysis.flow.statements import assignments, values_unpacked
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.lower.text import called

MEASURES = frozenset("shape ndim size dtype".split())
_NO_ARRAYS = frozenset("len int float bool str range list dict set tuple isinstance getattr".split())


@dataclass(frozen=True)
class LastValues:
    """`names` are the names, `unset` those of them that have no value before the loop."""

    names: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


def last_values(
    loop: Loop, names: Names, carried: Sequence[str], after: Mapping[str, ast.AST], layers: frozenset[str]
) -> LastValues:
    """The names whose last values a scan can hand on. Numbers, functions and modules are left to the Python loop."""
    wanted = [name for name in names.bound if name in after and name not in carried]
    if not wanted or not carried:
        return LastValues()
    arrays = _computed(loop, names, set(carried), layers)
    definite = set.intersection(*names.exits, names.definite)
    before = flow(path_to(loop))
    given = loop.scope.params if not isinstance(loop.scope.node, ast.Module) else ()
    kept, unset = [], []
    for name in (each for each in wanted if each in arrays):
        if name in before.definite or (name in given and name not in before.bound):
            kept.append(name)
        elif name not in before.bound and name in definite and not _set_elsewhere(loop, name):
            kept.append(name)
            unset.append(name)
    return LastValues(tuple(kept), tuple(unset))


def _set_elsewhere(loop: Loop, name: str) -> bool:
    """Whether a loop around may bring back a value that the name is given below."""
    for above in ancestors(loop.module, loop.node):
        if isinstance(above, FUNCTIONS):
            break
        if isinstance(above, ast.For | ast.While):
            inside = assignments([loop.node], name)
            return any(each not in inside for each in assignments([above], name))
    return False


def _computed(loop: Loop, names: Names, carried: set[str], layers: frozenset[str]) -> set[str]:
    """The names of the body all of whose values are arrays, for all that can be seen."""
    known = set(carried)
    while True:
        arrays = _Arrays(frozenset(known), layers)
        more = {name for name in names.bound if name not in known and arrays.all_values(loop, name)}
        if not more:
            return known
        known |= more


@dataclass(frozen=True)
class _Arrays:
    """Tells expressions that give arrays from those that give numbers, functions and modules, given names of arrays."""

    names: frozenset[str]
    layers: frozenset[str]

    def all_values(self, loop: Loop, name: str) -> bool:
        values: list[ast.expr] = []
        for statement in assignments(loop.body, name):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    values += values_unpacked(target, statement.value, name)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                values.append(statement.value)
            else:
                return False
        return bool(values) and all(map(self.given_by, values))

    def given_by(self, node: ast.expr) -> bool:
        match node:
            case ast.Name():
                return node.id in self.names
            case ast.Call():
                name = called(node) or ""
                other = name in _NO_ARRAYS or name.rpartition(".")[2] == "partial"
                return not other and any(each in self.names or each in self.layers for each in reads(node))
            case ast.BinOp():
                return self.given_by(node.left) or self.given_by(node.right)
            case ast.UnaryOp():
                return self.given_by(node.operand) and not isinstance(node.op, ast.Not)
            case ast.IfExp():
                return self.given_by(node.body) and self.given_by(node.orelse)
            case ast.Tuple() | ast.List():
                return all(not isinstance(each, ast.Starred) and self.given_by(each) for each in node.elts)
            case ast.Subscript():
                return self.given_by(node.value)
            case ast.Attribute():
                return node.attr not in MEASURES and self.given_by(node.value)
            case _:
                return False
