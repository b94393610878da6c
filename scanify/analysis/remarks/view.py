"""One file as the rules see it: the functions that it calls, and the values of its names."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parameters, parent_of
from scanify.analysis.plan import Remark
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.watchers.names import Body, Callee, callee, local_scope

_DEEPEST = 5  # from one name to another
Binding = tuple[ast.AST, ast.expr | None]


@dataclass(frozen=True)
class View:
    """A file of a project; the callee of each expression is resolved once."""

    project: ProjectFacts
    module: Module
    callees: dict[ast.expr, Callee] = field(default_factory=dict, repr=False, compare=False)

    def called(self, function: ast.expr) -> str:
        """Return the qualified name of a function outside the project; empty for any other."""
        found = self._callee(function)
        return found if isinstance(found, str) else ""

    def body(self, function: ast.expr) -> Body | None:
        """Return the function of the project that an expression refers to."""
        found = self._callee(function)
        return found if isinstance(found, Body) else None

    def _callee(self, function: ast.expr) -> Callee:
        if function not in self.callees:
            self.callees[function] = callee(self.project.index, self.module, function)
        return self.callees[function]

    def value(self, node: ast.expr) -> ast.expr:
        """Return the expression assigned to a name by the only statement that binds it; other expressions unchanged."""
        for _ in range(_DEEPEST):
            given = bindings(self.module, node) if isinstance(node, ast.Name) else []
            if len(given) != 1 or given[0][1] is None:
                break
            node = given[0][1]
        return node

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the parent of a node."""
        return parent_of(self.module, node)

    def functions_around(self, node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
        """Yield the functions around a node, innermost first."""
        return (each for each in ancestors(self.module, node) if isinstance(each, (*FUNCTIONS, ast.Lambda)))

    def code(self, node: ast.AST, most: int = 50) -> str:
        """Return the text of a node on one line, shortened."""
        text = " ".join(self.module.code(node).split())
        return text if len(text) <= most else f"{text[: most - 3]}..."

    def remark(self, node: ast.AST, rule: str, reason: str, remedy: str, at: ast.AST | None = None) -> Remark:
        """Return a remark on a node; `at` is the other node that its reason mentions."""
        place = self.module.place
        return Remark(place(node), rule, reason, remedy, place(at) if at is not None else None)


def bindings(module: Module, name: ast.Name) -> list[Binding]:
    """Return the statements and parameters that bind a name in its scope, each with the assigned expression, if any."""
    scope = local_scope(module, name, name.id)
    body = getattr(scope.node, "body", ()) if scope is not None else module.tree.body
    given = parameters(scope.node) if scope is not None else ()
    found: list[Binding] = [(each, None) for each in given if each.arg == name.id]
    bound = assignments(body if isinstance(body, list) else (), name.id)
    return [*found, *((each, next(iter(value_given(each, name.id)), None)) for each in bound)]


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """Return the keyword argument of a call with one of some names."""
    return next((each.value for each in call.keywords if each.arg in names), None)


def argument(call: ast.Call, at: int, *names: str) -> ast.expr | None:
    """Return the argument of a call at a position, or with one of some names."""
    plain = [each for each in call.args[: at + 1] if not isinstance(each, ast.Starred)]
    return plain[at] if len(plain) > at else keyword(call, *names)


def names_read(*nodes: ast.AST) -> Iterator[ast.Name]:
    """Yield the reads of names in some nodes."""
    return (each for each in nodes_in(*nodes) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
