"""One file as the rules read it: what its expressions call, and what its names are given."""

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

_DEEPEST = 5  # names of one another that are followed
Binding = tuple[ast.AST, ast.expr | None]


@dataclass(frozen=True)
class View:
    """A file of a project; what its expressions call is found once."""

    project: ProjectFacts
    module: Module
    callees: dict[ast.expr, Callee] = field(default_factory=dict, repr=False, compare=False)

    def called(self, function: ast.expr) -> str:
        """Return the qualified name of a function outside of the project; empty for any other."""
        found = self._callee(function)
        return found if isinstance(found, str) else ""

    def body(self, function: ast.expr) -> Body | None:
        """Return the function of the project that an expression stands for."""
        found = self._callee(function)
        return found if isinstance(found, Body) else None

    def _callee(self, function: ast.expr) -> Callee:
        if function not in self.callees:
            self.callees[function] = callee(self.project.index, self.module, function)
        return self.callees[function]

    def value(self, node: ast.expr) -> ast.expr:
        """Return the expression that a name is assigned by the only statement that binds it; any other as it is."""
        for _ in range(_DEEPEST):
            given = bindings(self.module, node) if isinstance(node, ast.Name) else []
            if len(given) != 1 or given[0][1] is None:
                break
            node = given[0][1]
        return node

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node that a node is a direct part of."""
        return parent_of(self.module, node)

    def functions_around(self, node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
        """Yield the functions that a node stands in, the nearest first."""
        return (each for each in ancestors(self.module, node) if isinstance(each, (*FUNCTIONS, ast.Lambda)))

    def code(self, node: ast.AST, most: int = 50) -> str:
        """Return the text of a node in one line, shortened."""
        text = " ".join(self.module.code(node).split())
        return text if len(text) <= most else f"{text[: most - 3]}..."

    def remark(self, node: ast.AST, rule: str, reason: str, remedy: str, at: ast.AST | None = None) -> Remark:
        """Return a remark on a node, whose reason speaks of another one."""
        place = self.module.place
        return Remark(place(node), rule, reason, remedy, place(at) if at is not None else None)


def bindings(module: Module, name: ast.Name) -> list[Binding]:
    """Return the statements that bind a name in its scope, and its parameter, each with the expression that is
    assigned if there is one."""
    scope = local_scope(module, name, name.id)
    body = getattr(scope.node, "body", ()) if scope is not None else module.tree.body
    given = parameters(scope.node) if scope is not None else ()
    found: list[Binding] = [(each, None) for each in given if each.arg == name.id]
    bound = assignments(body if isinstance(body, list) else (), name.id)
    return [*found, *((each, next(iter(value_given(each, name.id)), None)) for each in bound)]


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """Return the argument of a call with one of some names."""
    return next((each.value for each in call.keywords if each.arg in names), None)


def argument(call: ast.Call, at: int, *names: str) -> ast.expr | None:
    """Return the argument at a position of a call, or with one of some names."""
    plain = [each for each in call.args[: at + 1] if not isinstance(each, ast.Starred)]
    return plain[at] if len(plain) > at else keyword(call, *names)


def names_read(*nodes: ast.AST) -> Iterator[ast.Name]:
    """Yield the places in some nodes where names are read."""
    return (each for each in nodes_in(*nodes) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
