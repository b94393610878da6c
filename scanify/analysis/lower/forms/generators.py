"""Generators and `map`: whether they are evaluated where they stand, and the lists that they may be added to."""

import ast

from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Scope, ancestors, parent_of

# These go through a generator before they do anything else.
_EAGER = frozenset("sum tuple list max min".split())
_EAGER_FUNCTIONS = ("functools.reduce", "math.prod", "math.fsum")
_LAZY = frozenset("zip enumerate".split())
_LIBRARIES = frozenset("jax numpy".split())


def walked_at_once(module: Module, scope: Scope, node: ast.expr) -> bool:
    """Whether a generator, or a `map`, is walked at once and to its end by what stands around it.

    A generator evaluates each element when it is asked for, with what names are bound to then.
    """
    below: ast.AST = node
    while True:
        above = parent_of(module, below)
        match above:
            case ast.Assign(targets=targets):  # `a, b = ...`
                return all(isinstance(each, ast.Tuple | ast.List) for each in targets)
            case ast.Starred():
                return True
            case ast.Call() if any(each is below for each in above.args):
                name = scope.builtin(above)
                if name in _EAGER:
                    return True
                outside = scope.qualified(above.func) or ""
                if outside.partition(".")[0] in _LIBRARIES or outside in _EAGER_FUNCTIONS:
                    return True
                if name not in _LAZY:
                    return False
                below = above
            case _:
                return False


def is_own_list(scope: Scope, name: str, where: ast.AST) -> bool:
    """Whether a name is a new list of the function wherever some code of it runs; it may be added to.

    What it is assigned behind that code, where that is not run again, is no matter: `outs = jnp.stack(outs)`.
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
