"""One file, as the rules on scans see it: what its expressions call, what its names were given, and what they are."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from scanify.analysis.facts import Place
from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, own_nodes
from scanify.analysis.plan import Remark
from scanify.analysis.watchers.names import Body, Callee, callee, local_scope

_DEPTH = 4


@dataclass(frozen=True)
class Seen:
    """A file of a project, with the bodies of its scans."""

    index: Index
    module: Module
    bodies: dict[ast.Call, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    _callees: dict[ast.expr, Callee] = field(default_factory=dict, init=False, repr=False, compare=False)

    def called(self, function: ast.expr) -> str:
        """The qualified name of a function outside of the project; empty for any other."""
        found = self._callee(function)
        return found if isinstance(found, str) else ""

    def body(self, function: ast.expr) -> Body | None:
        """The function of the project that an expression stands for."""
        found = self._callee(function)
        return found if isinstance(found, Body) else None

    def _callee(self, function: ast.expr) -> Callee:
        if function not in self._callees:
            self._callees[function] = callee(self.index, self.module, function)
        return self._callees[function]

    def given(self, name: ast.Name) -> list[ast.expr] | None:
        """The expressions that a local name is assigned, in order; None where it is bound otherwise, too."""
        scope = local_scope(self.module, name, name.id)
        if scope is None or not isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        found: list[ast.expr] = []
        for node in own_nodes(scope.node):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=bound)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value)
                ):
                    found += [value] if bound == name.id else []
                case ast.Name(id=bound, ctx=ast.Store()) if bound == name.id and not self._is_target(node):
                    return None
                case _:
                    pass
        return found if name.id not in scope.params else None

    def _is_target(self, name: ast.Name) -> bool:
        above = next(iter(ancestors(self.module, name)), None)
        return (isinstance(above, ast.Assign) and above.targets == [name]) or isinstance(above, ast.AnnAssign)

    def meant(self, node: ast.expr, depth: int = 0) -> ast.expr:
        """The expression that a local name stands for, where it is assigned once; else the expression itself."""
        if isinstance(node, ast.Name) and depth < _DEPTH:
            given = self.given(node)
            if local_scope(self.module, node, node.id) is None:
                found = self.index.resolve(self.module, node.id)
                if isinstance(found, Definition) and found.module is self.module and isinstance(found.node, ast.Assign):
                    given = [found.node.value]
            if given is not None and len(given) == 1:
                return self.meant(given[0], depth + 1)
        return node

    def function_around(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        """The function that a node stands in."""
        return next((each for each in ancestors(self.module, node) if isinstance(each, (*FUNCTIONS, ast.Lambda))), None)

    def place(self, node: ast.AST) -> Place:
        return self.module.place(node)

    def code(self, node: ast.AST, most: int = 50) -> str:
        """The text of a node in one line, shortened."""
        text = " ".join(self.module.code(node).split())
        return text if len(text) <= most else f"{text[: most - 3]}..."

    def remark(self, node: ast.AST, rule: str, reason: str, remedy: str, at: ast.AST | None = None) -> Remark:
        return Remark(self.place(node), rule, reason, remedy, self.place(at) if at is not None else None)


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """The argument of a call with one of some names."""
    return next((each.value for each in call.keywords if each.arg in names), None)


def argument(call: ast.Call, at: int, *names: str) -> ast.expr | None:
    """The argument at a position of a call, or with one of some names."""
    plain = [each for each in call.args[: at + 1] if not isinstance(each, ast.Starred)]
    return plain[at] if len(plain) > at else keyword(call, *names)


def names_read(*nodes: ast.AST) -> Iterator[ast.Name]:
    """The places in some nodes where names are read."""
    return (each for each in nodes_in(*nodes) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
