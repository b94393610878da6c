"""Names that a loop's body computes anew in every turn and that are read after the loop: their last values.

Such a name can be one more carry, which no layer reads. Before the first layer it is whatever the name stood for, so
that an empty list, or a layer that computes no such value, leaves it as the loop does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.around import path_to, read_after
from scanify.analysis.names import Names, body_of, flow, parameter_names, target_names
from scanify.analysis.project import dotted
from scanify.analysis.where import Where, assignments, matched

_MEASURES = frozenset("shape ndim size dtype".split())
_NO_ARRAYS = frozenset("len int float bool str range list dict set tuple isinstance getattr".split())


@dataclass(frozen=True)
class LastValues:
    """`names` are the names, `unset` those of them that have no value before the loop."""

    names: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


def last_values(at: Where, loop: cst.For, names: Names, targets: set[str], layers: frozenset[str]) -> LastValues:
    """The names whose last values a scan can hand on. Numbers, functions and modules are left to the Python loop."""
    after = read_after(at, loop)
    wanted = [name for name in names.bound if name in after and name not in targets and name not in names.exposed]
    carried = {name for name in names.exposed if name in names.bound and name not in targets}
    if not wanted or not carried:
        return LastValues()
    computed = _computed(loop, names, carried, layers)
    sure = set.intersection(*names.exits, names.sure)
    before = flow(path_to(at, loop))
    given = parameter_names(at.function.params) if at.function is not None else set()
    found, unset = [], []
    for name in (one for one in wanted if one in computed):
        if name in before.sure or (name in given and name not in before.bound):
            found.append(name)
        elif name not in before.bound and name in sure and not _set_elsewhere(at, loop, name):
            found.append(name)
            unset.append(name)
    return LastValues(tuple(found), tuple(unset))


def _set_elsewhere(at: Where, loop: cst.For, name: str) -> bool:
    """Whether a loop around may bring back a value that the name is given below."""
    if not any(isinstance(above, cst.For | cst.While) for above in at.module.parsed.ancestors(loop)):
        return False
    inside = assignments([loop], name)
    return any(one not in inside for one in assignments(at.body(), name))


def _computed(loop: cst.For, names: Names, carried: set[str], layers: frozenset[str]) -> set[str]:
    """The names of the body all of whose values are arrays, for all that can be seen."""
    found = set(carried)
    while True:
        arrays = _Arrays(frozenset(found), layers)
        more = {name for name in names.bound if name not in found and arrays.all_values(loop, name)}
        if not more:
            return found
        found |= more


@dataclass(frozen=True)
class _Arrays:
    """Tells expressions that give arrays from those that give numbers, functions and modules, given names of arrays."""

    names: frozenset[str]
    layers: frozenset[str]

    def all_values(self, loop: cst.For, name: str) -> bool:
        values: list[cst.BaseExpression] = []
        for statement in assignments(body_of(loop.body), name):
            if isinstance(statement, cst.Assign):
                values += [one for each in statement.targets for one in _values(each.target, statement.value, name)]
            elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
                values.append(statement.value)
            else:
                return False
        return bool(values) and all(map(self.given_by, values))

    def given_by(self, node: cst.BaseExpression) -> bool:
        match node:
            case cst.Name():
                return node.value in self.names
            case cst.Call():
                called = dotted(node.func) or ""
                read = flow([cst.Expr(node)]).exposed
                other = called in _NO_ARRAYS or called.rpartition(".")[2] == "partial"
                return not other and any(name in self.names or name in self.layers for name in read)
            case cst.BinaryOperation():
                return self.given_by(node.left) or self.given_by(node.right)
            case cst.UnaryOperation():
                return self.given_by(node.expression) and not isinstance(node.operator, cst.Not)
            case cst.IfExp():
                return self.given_by(node.body) and self.given_by(node.orelse)
            case cst.Tuple() | cst.List():
                return all(isinstance(one, cst.Element) and self.given_by(one.value) for one in node.elements)
            case cst.Subscript():
                return self.given_by(node.value)
            case cst.Attribute():
                return node.attr.value not in _MEASURES and self.given_by(node.value)
            case _:
                return False


def _values(target: cst.BaseExpression, value: cst.BaseExpression, name: str) -> Sequence[cst.BaseExpression]:
    """What goes to the name; all of `value` where a call's result is unpacked."""
    if not isinstance(target, cst.Tuple | cst.List) or isinstance(value, cst.Tuple | cst.List):
        return matched(target, value, name)
    return [value] if name in target_names(target) else []
