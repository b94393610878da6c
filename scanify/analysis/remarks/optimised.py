"""Code that inspects leaves and that an optimiser runs over a tree known to hold a stack."""

import ast
from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.lists.declared import declared
from scanify.analysis.lists.objects import assigned_values, class_of
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.readers import KEY, NORM, PATH, RANK, SHAPE, Reader
from scanify.analysis.remarks.stacks import field_kind, kind_of
from scanify.analysis.remarks.view import View, bindings
from scanify.analysis.watchers.find import watchers_of
from scanify.analysis.watchers.names import Body, callee

_DEEPEST = 5
_BY_LAYER = "`scanify.optim.per_layer(optimizer)` shows it each layer by itself"
_REMEDIES = {
    RANK: "`optax.adamw(rate, mask=scanify.optim.weight_decay_mask)` asks for the rank in a layer",
    NORM: _BY_LAYER,
    SHAPE: _BY_LAYER,
    PATH: "`scanify.optim.label_tree(label, params)` labels a stack as the list of its layers",
    KEY: "`scanify.optim.per_layer(optimizer)` gives each layer keys of its own",
}


def remarks(view: View, init: ast.Call) -> Iterator[Remark]:
    """Check `optimizer.init(params)`, with parameters that hold a stack."""
    match init:
        case ast.Call(func=ast.Attribute(value=optimizer, attr="init"), args=[tree], keywords=[]):
            readers = _run_by(view.project, view.module, optimizer) if _holds_stack(view, tree) else ()
        case _:
            return
    for reader in readers:
        if reader.rule in _REMEDIES:
            reason = f"it reads {reader.reads}, and a leaf of `{view.code(tree)}` holds several layers"
            yield Remark(reader.place, reader.rule, reason, _REMEDIES[reader.rule], view.module.place(init))


def _holds_stack(view: View, node: ast.expr, depth: int = 0) -> bool:
    """True if an expression is known to be a tree with a stack of layers in it."""
    if kind_of(view.project, view.module, node) is not None:
        return True
    owner = class_of(view.project, view.module, node)
    if isinstance(owner, Definition):
        return _class_holds(view.project, owner)
    match node:
        case _ if depth > _DEEPEST:
            return False
        case ast.Call(func=function, args=arguments):  # `eqx.filter(model, eqx.is_array)`, `jax.tree.map(f, model)`
            keeps = view.called(function).startswith(("equinox.", "jax."))
            return keeps and any(_holds_stack(view, each, depth + 1) for each in arguments)
        case ast.Subscript(value=ast.Call() as value, slice=ast.Constant(value=0)):
            return _holds_stack(view, value, depth + 1)
        case ast.Name():
            match [statement for statement, _ in bindings(view.module, node)]:
                case [ast.Assign(targets=[ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_])], value=whole)]:
                    # the first of `params, static = eqx.partition(model, ...)`
                    return name == node.id and _holds_stack(view, whole, depth + 1)
    return False


def _class_holds(project: ProjectFacts, owner: Definition, depth: int = 0) -> bool:
    """True if objects of a class hold a stack, in a field or in an object of a field's declared class."""
    fields = project.classes.fields(owner)
    stores = (each for each in nodes_in(owner.node) if isinstance(each, ast.Attribute))
    stored = {each.attr for each in stores if isinstance(each.ctx, ast.Store)}
    if any(field_kind(project, owner, name) is not None for name in {*fields, *stored}):
        return True
    held = (declared(project, each.owner.module, each.statement.annotation).cls for each in fields.values())
    inner = [each for each in held if isinstance(each, Definition) and depth < _DEEPEST]
    return any(_class_holds(project, each, depth + 1) for each in inner)


def _run_by(project: ProjectFacts, module: Module, optimizer: ast.expr) -> Iterator[Reader]:
    """Yield the readers in an optimiser: in its parts, its masks and labels, and the functions that they call."""
    index = project.index
    seen: set[ast.AST] = set()
    waiting: list[tuple[Module, ast.AST]] = [(module, optimizer)]
    while waiting:
        where, node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, ast.Call):
            known = callee(index, where, node.func)
            if isinstance(known, str) and known.endswith((".per_layer", ".weight_decay_mask", ".label_tree")):
                continue
            yield from watchers_of(index, where, node)
            waiting += [(known.module, known.node)] if isinstance(known, Body) else []
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            waiting += [(where, value) for _, value in bindings(where, node) if value is not None]
            known = callee(index, where, node)
            waiting += [(known.module, known.node)] if isinstance(known, Body) else []
        elif isinstance(node, ast.Attribute):
            owner = class_of(project, where, node.value)
            stored = assigned_values(project, owner, node.attr) if isinstance(owner, Definition) else ()
            waiting += ((home.module, value) for home, value in stored)
        waiting += [(where, each) for each in ast.iter_child_nodes(node)]
