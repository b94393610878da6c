"""Which expressions are stacks of layers, by what they are made of or declared as."""

import ast
from functools import lru_cache

from scanify.analysis.index import Definition, External, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import own_nodes, scope_of
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.watchers.names import local_scope

STACKED, ARRAY_STACKED, BLOCK_SEQ = "Stacked", "ArrayStacked", "BlockSeq"
_KINDS = (STACKED, ARRAY_STACKED, BLOCK_SEQ)
_PACKAGES = ("haliax", "scanify", "levanter")
_DEPTH = 5


def kind_of_class(index: Index, module: Module, name: str | None) -> str | None:
    """What kind of a stack a class is, by its name in a file: `hnn.Stacked`, `ArrayStacked`."""
    found = index.resolve(module, name) if name is not None else None
    if not isinstance(found, External) or found.qualname.partition(".")[0] not in _PACKAGES:
        return None
    last = found.qualname.rpartition(".")[2]
    return last if last in _KINDS else None


def kind_of(index: Index, module: Module, node: ast.expr, depth: int = 0) -> str | None:
    """What kind of a stack an expression is; None where it is none, or where that is not shown."""
    if depth > _DEPTH:
        return None
    match node:
        case ast.Call():
            return _made_by(index, module, node)
        case ast.Attribute(value=value, attr=attribute):
            owner = class_of(index, module, value, depth + 1)
            return field_kind(index, owner, attribute) if owner is not None else None
        case ast.Name():
            for value in assigned(module, node):
                return kind_of(index, module, value, depth + 1)
            annotation = annotation_of(module, node)
            return kind_of_annotation(index, module, annotation) if annotation is not None else None
        case _:
            return None


def _made_by(index: Index, module: Module, call: ast.Call) -> str | None:
    """`ArrayStacked.of(layers)`, `Stacked.init(axis, Block)(...)`, `Stacked(stacked, axis, policy)`."""
    function = call.func.func if isinstance(call.func, ast.Call) else call.func
    kind = kind_of_class(index, module, dotted(function))
    if kind is not None:
        return kind
    if isinstance(function, ast.Attribute) and function.attr in ("of", "init"):
        return kind_of_class(index, module, dotted(function.value))
    return None


def kind_of_annotation(index: Index, module: Module, annotation: ast.expr) -> str | None:
    """`Stacked[Block]`, `ArrayStacked`, `Stacked | None`, in quotes or not."""
    match plain := unquoted(annotation):
        case ast.Subscript(value=value, slice=inner):
            inside = kind_of_annotation(index, module, inner) if dotted(value) in ("Optional", "Annotated") else None
            return inside or kind_of_class(index, module, dotted(value))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return kind_of_annotation(index, module, left) or kind_of_annotation(index, module, right)
        case _:
            return kind_of_class(index, module, dotted(plain))


def class_of(index: Index, module: Module, node: ast.expr, depth: int = 0) -> Definition | None:
    """The class of the project that an expression is an object of, as far as that is shown."""
    if depth > _DEPTH:
        return None
    match node:
        case ast.Name(id=name):
            scope = scope_of(module, node)
            if name == scope.self_name and scope.owner is not None:
                found = index.resolve(module, scope.owner.name)
                return found if isinstance(found, Definition) and found.node is scope.owner else None
            values = assigned(module, node)
            if values:
                return class_of(index, module, values[0], depth + 1) if len(values) == 1 else None
            annotation = annotation_of(module, node)
            return class_named(index, module, annotation) if annotation is not None else None
        case ast.Call(func=function):
            return class_named(index, module, function)
        case ast.Attribute(value=value, attr=attribute):
            owner = class_of(index, module, value, depth + 1)
            annotation = fields(owner.node).get(attribute) if owner is not None else None
            return (
                class_named(index, owner.module, annotation) if owner is not None and annotation is not None else None
            )
        case _:
            return None


def class_named(index: Index, module: Module, node: ast.expr) -> Definition | None:
    """Return the class of the project that an annotation names, in quotes or not, or that is called by its name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = index.resolve(module, node.value)
    else:
        name = dotted(node.value if isinstance(node, ast.Subscript) else node)
        found = index.resolve(module, name) if name is not None else None
    return found if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef) else None


def field_kind(index: Index, owner: Definition, attribute: str) -> str | None:
    """What kind of a stack the objects of a class have under a name: as it is declared, or assigned to `self`."""
    assert isinstance(owner.node, ast.ClassDef)
    annotation = fields(owner.node).get(attribute)
    kind = kind_of_annotation(index, owner.module, annotation) if annotation is not None else None
    for value in stored(owner.node).get(attribute, ()) if kind is None else ():
        kind = kind or kind_of(index, owner.module, value, 1)
    return kind


@lru_cache(maxsize=512)
def fields(cls: ast.stmt) -> dict[str, ast.expr]:
    """The annotated fields of a class."""
    body = cls.body if isinstance(cls, ast.ClassDef) else []
    found = (each for each in body if isinstance(each, ast.AnnAssign))
    return {each.target.id: each.annotation for each in found if isinstance(each.target, ast.Name)}


@lru_cache(maxsize=512)
def stored(cls: ast.ClassDef) -> dict[str, list[ast.expr]]:
    """What the methods of a class assign to the attributes of their first parameter."""
    found: dict[str, list[ast.expr]] = {}
    for method in cls.body:
        if not isinstance(method, ast.FunctionDef) or not method.args.args:
            continue
        first = method.args.args[0].arg
        for node in nodes_in(method):
            match node:
                case (
                    ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=attribute)], value=value)
                    | ast.AnnAssign(
                        target=ast.Attribute(value=ast.Name(id=name), attr=attribute), value=ast.expr() as value
                    )
                ) if name == first:
                    found.setdefault(attribute, []).append(value)
                case _:
                    pass
    return found


def assigned(module: Module, name: ast.Name) -> list[ast.expr]:
    """The expressions that a local name, or one of the file, is assigned by statements of its own."""
    scope = local_scope(module, name, name.id)
    nodes = own_nodes(scope.node) if scope is not None else module.tree.body
    found: list[ast.expr] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=bound)], value=value) if bound == name.id:
                found.append(value)
            case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value) if bound == name.id:
                found.append(value)
            case _:
                pass
    return found


def annotation_of(module: Module, name: ast.Name) -> ast.expr | None:
    """The annotation of the parameter that a name is."""
    scope = local_scope(module, name, name.id)
    args = getattr(scope.node, "args", None) if scope is not None else None
    if not isinstance(args, ast.arguments):
        return None
    return next(
        (each.annotation for each in (*args.posonlyargs, *args.args, *args.kwonlyargs) if each.arg == name.id), None
    )
