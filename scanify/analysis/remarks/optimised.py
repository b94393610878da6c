"""Code that looks at leaves and that an optimizer runs over a tree which is known to hold a stack."""

import ast
from collections.abc import Iterator

from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.readers import KEY, NORM, PATH, RANK, SHAPE, Reader
from scanify.analysis.remarks.stacks import assigned, class_named, class_of, field_kind, fields, kind_of, stored
from scanify.analysis.watchers.find import watchers_of
from scanify.analysis.watchers.names import Body, callee, local_scope

_DEPTH = 5
# What gives a tree with the stacks of the first tree that it is given, and at which position that stands.
_KEEPS = {
    "equinox.filter": 0,
    "equinox.partition": 0,
    "equinox.filter_shard": 0,
    "equinox.nn.inference_mode": 0,
    "jax.device_put": 0,
    "equinox.apply_updates": 0,
    "equinox.tree_at": 1,
    "jax.tree.map": 1,
    "jax.tree_util.tree_map": 1,
}
_REMEDIES = {
    RANK: "`optax.adamw(rate, mask=scanify.optim.weight_decay_mask)` asks for the rank in a layer",
    NORM: "`scanify.optim.per_layer(optimizer)` shows it each layer by itself",
    SHAPE: "`scanify.optim.per_layer(optimizer)` shows it each layer by itself",
    PATH: "`scanify.optim.label_tree(label, params)` labels a stack as the list of its layers",
    KEY: "`scanify.optim.per_layer(optimizer)` gives each layer keys of its own",
}


def remarks(index: Index, module: Module) -> Iterator[Remark]:
    """The remarks on a file with `optimizer.init(params)` of parameters that hold a stack."""
    for init in nodes_in(module.tree) if ".init(" in module.text else ():
        match init:
            case ast.Call(func=ast.Attribute(value=optimizer, attr="init"), args=[tree], keywords=[]):
                readers = _run_by(index, module, optimizer) if _holds_stack(index, module, tree) else ()
            case _:
                continue
        for reader in readers:
            if reader.rule in _REMEDIES:
                text = " ".join(module.code(tree).split())
                reason = f"it reads {reader.reads}, and a leaf of `{text}` holds several layers"
                yield Remark(reader.place, reader.rule, reason, _REMEDIES[reader.rule], module.place(init))


def _holds_stack(index: Index, module: Module, node: ast.expr, depth: int = 0) -> bool:
    """True if an expression is shown to be a tree with a stack of layers in it."""
    if depth > _DEPTH:
        return False
    if kind_of(index, module, node) is not None:
        return True
    owner = class_of(index, module, node)
    if owner is not None:
        return _class_holds(index, owner, 0)
    match node:
        case ast.Call(args=arguments):
            known = callee(index, module, node.func)
            at = _KEEPS.get(known) if isinstance(known, str) else None
            return at is not None and len(arguments) > at and _holds_stack(index, module, arguments[at], depth + 1)
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            return isinstance(value, ast.Call) and _holds_stack(index, module, value, depth + 1)
        case ast.Name():
            values = assigned(module, node) or _unpacked(module, node)
            return len(values) == 1 and _holds_stack(index, module, values[0], depth + 1)
        case _:
            return False


def _unpacked(module: Module, name: ast.Name) -> list[ast.expr]:
    """`params, static = eqx.partition(model, ...)`: the call, for its first name."""
    scope = local_scope(module, name, name.id)
    found: list[ast.expr] = []
    for node in nodes_in(scope.node) if scope is not None else module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=first), *_])], value=ast.Call() as value):
                found += [value] if first == name.id else []
            case _:
                pass
    return found


def _class_holds(index: Index, owner: Definition, depth: int) -> bool:
    """True if objects of a class hold a stack, in a field or in an object that a field is declared to hold."""
    if depth > _DEPTH or not isinstance(owner.node, ast.ClassDef):
        return False
    if any(field_kind(index, owner, name) is not None for name in {**fields(owner.node), **stored(owner.node)}):
        return True
    inner = (class_named(index, owner.module, each) for each in fields(owner.node).values())
    return any(each is not None and each != owner and _class_holds(index, each, depth + 1) for each in inner)


def _run_by(index: Index, module: Module, optimizer: ast.expr) -> Iterator[Reader]:
    """The readers among what an optimizer is made of: its parts, its masks and labels, and what those call."""
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
            if isinstance(known, Body):
                waiting.append((known.module, known.node))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            waiting += [(where, each) for each in assigned(where, node)]
            known = callee(index, where, node)
            waiting += [(known.module, known.node)] if isinstance(known, Body) else []
        elif isinstance(node, ast.Attribute) and (owner := class_of(index, where, node.value)) is not None:
            assert isinstance(owner.node, ast.ClassDef)
            waiting += [(owner.module, each) for each in stored(owner.node).get(node.attr, ())]
        waiting += [(where, each) for each in ast.iter_child_nodes(node)]
