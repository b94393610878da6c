"""Generators: whether they are evaluated in place, and the lists that loops may append to."""

import ast

from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Scope, ancestors, parent_of

_EAGER = frozenset("sum tuple list max min".split())  # they exhaust a generator first
_LIBRARIES = frozenset("jax numpy".split())


def walked_at_once(module: Module, scope: Scope, node: ast.expr) -> bool:
    """True if a generator is evaluated at once and to its end, so that it sees the current values of names."""
    above = parent_of(module, node)
    if isinstance(above, ast.Call) and node in above.args:
        library = (scope.qualified(above.func) or "").partition(".")[0]
        return scope.builtin(above) in _EAGER or library in _LIBRARIES
    return isinstance(above, ast.Starred)


def is_own_list(scope: Scope, name: str, where: ast.AST) -> bool:
    """True if a name is a new list of the function wherever code at `where` runs, so that it may be appended to.

    Assignments after that code do not matter unless a loop repeats it: `outs = jnp.stack(outs)`.
    """
    if name not in scope.locals or name in scope.params:
        return False
    module, made = scope.module, 0
    again = any(isinstance(each, ast.For | ast.AsyncFor | ast.While) for each in ancestors(module, where))
    end = module.span(where).end
    for node in nodes_in(scope.node):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store | ast.Del):
            if not again and module.span(node).start >= end:
                continue
            match parent_of(scope.module, node):
                case ast.Assign(targets=[target], value=ast.List() | ast.ListComp()) if target is node:
                    made += 1
                case ast.AnnAssign(value=ast.List() | ast.ListComp()):
                    made += 1
                case ast.AugAssign(op=ast.Add()):
                    pass
                case _:
                    return False
    return made > 0
