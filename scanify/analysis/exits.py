"""Statements that end a turn of a loop early: in a function of one layer each is a `return`.

`continue` gives the carry as it is. After `break` and `return` no further layer is applied, so whether a layer is the
last one must be known when it is traced: from its index, from what all layers share, from its static fields.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.children import children
from scanify.analysis.code import code_of
from scanify.analysis.effects import Problem
from scanify.analysis.header import Header
from scanify.analysis.names import Names, body_of, target_names
from scanify.analysis.project import dotted
from scanify.analysis.where import Where, assignments

_MEASURES = frozenset("shape ndim size dtype".split())
_STATIC_CALLS = frozenset("isinstance issubclass callable hasattr len type".split())

Leaving = cst.Break | cst.Continue | cst.Return


class Exits:
    """The early exits of one loop's body, each with the conditions that it stands under."""

    def __init__(self, at: Where, loop: cst.For, head: Header, names: Names, layers: frozenset[str]) -> None:
        self._at, self._loop, self._layers = at, loop, layers
        index = set(target_names(head.index)) if head.index is not None else set()
        self._traced = (set(target_names(loop.target)) | set(names.bound)) - index
        self._traced -= self._static_names(names)
        self._found = list(leaving(body_of(loop.body)))

    @property
    def ends(self) -> bool:
        """Whether one of them ends the loop, and not a turn alone."""
        return any(not isinstance(node, cst.Continue) for node, _ in self._found)

    @property
    def words(self) -> frozenset[str]:
        """What they are, of `continue`, `break` and `return`."""
        return frozenset(word_of(node) for node, _ in self._found)

    def left(self, problems: Sequence[Problem], collects: bool) -> list[Problem]:
        """The problems without those of exits that a function of one layer can take over."""
        conditions = dict(self._found)
        found = []
        for problem in problems:
            if isinstance(problem.node, Leaving) and problem.node in conditions:
                reason = self._refused(problem.node, conditions[problem.node], collects)
                if reason is not None:
                    found.append(Problem(problem.rule, f"{problem.reason}, {reason}", problem.node))
            else:
                found.append(problem)
        return found

    def _refused(self, node: Leaving, conditions: Sequence[cst.BaseExpression], collects: bool) -> str | None:
        if isinstance(self._loop.body, cst.SimpleStatementSuite):
            return "on the line of the `for`"
        if isinstance(node, cst.Continue):
            return None
        if collects:
            return "and the loop collects values too"
        for condition in conditions:
            traced = self._first_traced(condition)
            if traced is not None:
                return f"where `{code_of(condition)}` holds, which depends on `{traced}`"
        return None

    def _static_names(self, names: Names) -> set[str]:
        """The names that the body computes from what is known when it is traced."""
        found: set[str] = set()
        while True:
            self._known = found
            more = {name for name in names.bound if name not in found and self._static(name, names)}
            if not more:
                return found
            found = found | more
            self._traced = self._traced - more

    def _static(self, name: str, names: Names) -> bool:
        values = []
        for statement in assignments(body_of(self._loop.body), name):
            if isinstance(statement, cst.Assign) and any(dotted(one.target) == name for one in statement.targets):
                values.append(statement.value)
            elif isinstance(statement, cst.For) and dotted(statement.target) == name:
                values.append(statement.iter)
            else:
                return False
        return name not in names.exposed and all(self._first_traced(value) is None for value in values)

    def _first_traced(self, node: cst.CSTNode) -> str | None:
        """A name in an expression that makes its value one that is computed in the loop; None where none does."""
        match node:
            case cst.Name():
                return node.value if node.value in self._traced else None
            case cst.Comparison() if all(
                isinstance(one.operator, cst.Is | cst.IsNot) and dotted(one.comparator) == "None"
                for one in node.comparisons
            ):
                return None
            case cst.Call() if dotted(node.func) in _STATIC_CALLS:
                return None
            case cst.Attribute():
                field = (dotted(node) or "").partition(".")[0] in self._layers and not self._called(node)
                return None if field or node.attr.value in _MEASURES else self._first_traced(node.value)
            case cst.Arg():
                return self._first_traced(node.value)
            case _:
                return next((found for child in children(node) if (found := self._first_traced(child))), None)

    def _called(self, node: cst.CSTNode) -> bool:
        parent = self._at.module.parsed.parent(node)
        return isinstance(parent, cst.Call) and parent.func is node


def word_of(node: Leaving) -> str:
    """`continue`, `break` or `return`."""
    return type(node).__name__.lower()


def leaving(
    statements: Sequence[cst.CSTNode], conditions: tuple[cst.BaseExpression, ...] = (), *, inner: bool = False
) -> Iterator[tuple[Leaving, tuple[cst.BaseExpression, ...]]]:
    """The statements of a loop's body that end a turn of it early, each with the conditions that it stands under.

    `inner` says that the statements are those of a loop in it, whose `break` and `continue` are its own.
    """
    for node in statements:
        match node:
            case cst.SimpleStatementLine() | cst.Else():
                body = node.body if isinstance(node, cst.SimpleStatementLine) else body_of(node.body)
                yield from leaving(body, conditions, inner=inner)
            case cst.Return():
                yield node, conditions
            case cst.Break() | cst.Continue() if not inner:
                yield node, conditions
            case cst.If():
                yield from leaving(body_of(node.body), (*conditions, node.test), inner=inner)
                yield from leaving([node.orelse] if node.orelse else [], (*conditions, node.test), inner=inner)
            case cst.With():
                yield from leaving(body_of(node.body), conditions, inner=inner)
            case cst.For():
                yield from leaving(body_of(node.body), (*conditions, node.iter), inner=True)
            case _:
                pass
