"""What else is done with a list of layers than to walk it: the one module that it becomes is no list."""

import ast
from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.linen.classes import LinenClasses
from scanify.analysis.linen.loop import LinenLoop
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of, scope_of
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
                if cls is owner and _makes(cls.module, node, seen):
                    continue
                if isinstance(node.ctx, ast.Load) and (_is_walked(cls.module, node) or _is_counted(cls, owner, node)):
                    continue
                text = f"`{seen.held}` is used as a list (line {node.lineno}), and it becomes one module"
                yield "SCN214", text, node if cls is owner else None, "keep the loop, or take that use away"
        if "." not in seen.held:
            return


def lengths(owner: Definition, held: str) -> Iterator[ast.Call]:
    """Where the class asks the list for its length."""
    for node in nodes_in(owner.node):
        if isinstance(node, ast.Attribute) and dotted(node) == held and _is_counted(owner, owner, node):
            call = parent_of(owner.module, node)
            assert isinstance(call, ast.Call)
            yield call


def _is_counted(cls: Definition, owner: Definition, node: ast.AST) -> bool:
    """`len(self.layers)`, in a statement of its class that stays: a loop's own head is written anew."""
    call = parent_of(cls.module, node)
    if cls is not owner or not isinstance(node, ast.Attribute) or not isinstance(call, ast.Call):
        return False
    if scope_of(cls.module, call).builtin(call) != "len" or len(call.args) != 1:
        return False
    return not any(isinstance(above, ast.For) for above in ancestors(cls.module, call))


def _makes(module: Module, node: ast.expr, seen: LinenLoop) -> bool:
    """Whether a mention is a part of what makes the list."""
    stored = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    value = getattr(parent_of(module, node), "value", None)
    return stored and seen.layers is not None and value is seen.layers.site


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
