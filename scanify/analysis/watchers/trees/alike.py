"""Trees that are shown to have one structure, so that their leaves go together however their layers are held."""

import ast
from collections.abc import Sequence

from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.scope import ancestors, own_nodes
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import callee, local_scope
from scanify.analysis.watchers.tables import FILTERS, GRADIENTS, MAPS

_MAX_DEPTH = 8


def are_alike(index: Index, module: Module, trees: Sequence[ast.expr]) -> bool:
    """Whether trees are made of one another, number by number, or are of one class."""
    return len({_root(index, module, each, 0) for each in trees}) == 1


def is_check(module: Module, call: ast.Call) -> bool:
    """Whether what is done with the leaves of trees is to compare them: where they do not go together, it raises."""
    for above in ancestors(module, call):
        if isinstance(above, ast.For):
            return all(isinstance(each, ast.Assert | ast.Expr) for each in above.body)
        if isinstance(above, ast.stmt):
            return isinstance(above, ast.Assert)
    return False


def _root(index: Index, module: Module, tree: ast.expr, depth: int) -> tuple[str, ...]:
    """What a tree gets its structure from: the text of an expression, or a class."""
    plain = (module.code(tree),)
    if depth > _MAX_DEPTH:
        return plain
    if isinstance(tree, ast.Call):
        known = callee(index, module, tree.func)
        if known in MAPS and len(tree.args) > 1:
            return _root(index, module, tree.args[1], depth + 1)
        if known in FILTERS and tree.args:
            spec = [module.code(each) for each in (*tree.args[1:], *(each.value for each in tree.keywords))]
            return (*_root(index, module, tree.args[0], depth + 1), "filter", *spec)
        if _is_gradient(index, module, tree):
            return _root(index, module, tree.args[0], depth + 1)
    if isinstance(tree, ast.Name) and (holder := local_scope(module, tree, tree.id)) is not None:
        made = [value for each in own_nodes(holder.node) if (value := _bound(index, module, each, tree.id)) is not None]
        if len(made) == 1 and tree.id not in holder.params:
            return _root(index, module, made[0], depth + 1)
        return _annotated(index, module, holder.node, tree.id) or plain
    return plain


def _bound(index: Index, module: Module, node: ast.AST, name: str) -> ast.expr | None:
    """What a statement binds a name to; of `loss, grads = jax.value_and_grad(f)(tree)` what the gradients are of."""
    match node:
        case ast.Assign(targets=[ast.Name(id=bound)], value=value) if bound == name:
            return value
        case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id=bound)])], value=ast.Call() as value) if bound == name:
            return value if _is_gradient(index, module, value) else None
        case _:
            return None


def _is_gradient(index: Index, module: Module, call: ast.Call) -> bool:
    """`jax.grad(loss)(tree)`: gradients for each leaf of a tree."""
    function = call.func
    return isinstance(function, ast.Call) and bool(call.args) and callee(index, module, function.func) in GRADIENTS


def _annotated(index: Index, module: Module, function: ast.AST, name: str) -> tuple[str, ...] | None:
    """The class of the project that a parameter is annotated with."""
    args = getattr(function, "args", None)
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs] if isinstance(args, ast.arguments) else []
    annotation = next((each.annotation for each in given if each.arg == name), None)
    text = dotted(annotation) if annotation is not None else None
    found = index.resolve(module, text) if text is not None else None
    is_class = isinstance(found, Definition) and isinstance(found.node, ast.ClassDef)
    return ("class", text) if is_class and text is not None else None
