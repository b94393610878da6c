"""What else is done with a list of layers than to walk it: the one module that it becomes is no list."""

import ast
from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.linen.classes import LinenClasses
from scanify.analysis.linen.loop import LinenLoop
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of
from scanify.analysis.lower.text import dotted

Reason = tuple[str, str, ast.AST | None, str]


def other_uses(classes: LinenClasses, owner: Definition, seen: LinenLoop) -> Iterator[Reason]:
    """The uses of the list in its class and in those that inherit from it, where they are none of a loop over it."""
    if not seen.held:
        return
    for cls in (owner, *classes.classes.heirs(owner)):
        within = cls.node if "." in seen.held else seen.loop.scope.function.node
        for node in nodes_in(within):
            if isinstance(node, ast.Attribute | ast.Name) and dotted(node) == seen.held:
                if isinstance(node.ctx, ast.Store) and cls is owner and _makes(cls.module, node, seen):
                    continue
                if isinstance(node.ctx, ast.Load) and _is_walked(cls.module, node):
                    continue
                text = f"`{seen.held}` is used as a list (line {node.lineno}), and it becomes one module"
                yield "SCN214", text, node if cls is owner else None, "keep the loop, or take that use away"
        if "." not in seen.held:
            return


def _makes(module: Module, node: ast.expr, seen: LinenLoop) -> bool:
    statement = parent_of(module, node)
    return seen.layers is not None and getattr(statement, "value", None) is seen.layers.site


def _is_walked(module: Module, node: ast.AST) -> bool:
    """Whether a mention stands in the head of a `for` statement: what that makes of it is decided there."""
    below: ast.AST = node
    for above in ancestors(module, node):
        if isinstance(above, ast.For):
            return above.iter is below
        if isinstance(above, ast.stmt):
            return False
        below = above
    return False
