"""Trees that are known to hold no model: arrays, batches, graphs, tuples of arrays that a class declares."""

import ast

from scanify.analysis.index import Definition, External, Index, Module
from scanify.analysis.language.tables import ARRAY_TYPES, KEY_TYPES
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import scope_of
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.watchers.names import local_scope
from scanify.analysis.watchers.stacks import annotation_of, assigned, class_of, fields

_DEPTH = 12  # of annotations in annotations
_STEPS = 4  # from an expression to what it is made of
_PLAIN = frozenset("int float bool complex str bytes None".split())
_HOLDERS = frozenset(
    "list tuple dict set frozenset List Tuple Dict Sequence Mapping Optional Union Annotated Iterable".split()
)
_ARRAY_PACKAGES = ("jax.", "jaxtyping.", "numpy.", "chex.")
# Trees of arrays by what they are for: nodes and edges of graphs.
_DATA = frozenset({"jraph.GraphsTuple", "jraph._src.graph.GraphsTuple"})
_RECORDS = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple"})
_DATACLASSES = ("dataclass", "chex.dataclass", "flax.struct.dataclass", "struct.dataclass", "dataclasses.dataclass")
_MAKERS = ("jax.numpy.", "jax.random.", "numpy.")


def is_data(index: Index, module: Module, tree: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is shown to hold no module. What is not shown may hold some."""
    if depth > _STEPS:
        return False
    match tree:
        case ast.Constant():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(is_data(index, module, each, depth + 1) for each in parts)
        case ast.Dict(keys=keys, values=values):
            return None not in keys and all(is_data(index, module, each, depth + 1) for each in values)
        case ast.Call(func=function):
            return _makes_data(index, module, function, depth)
        case ast.Attribute(value=value):
            return _is_part(index, module, tree) or is_data(index, module, value, depth + 1)
        case ast.Subscript(value=value):
            return is_data(index, module, value, depth + 1)
        case ast.Name():
            return _name(index, module, tree, depth)
        case _:
            return False


def _name(index: Index, module: Module, name: ast.Name, depth: int) -> bool:
    scope = scope_of(module, name)
    if name.id == scope.self_name and scope.owner is not None:
        owner = class_of(index, module, name)
        return owner is not None and _declares_data(index, owner, depth + 1)
    holder = local_scope(module, name, name.id)
    if holder is None:
        return False
    if name.id in holder.params:
        annotation = annotation_of(module, name)
        rebound = assigned(module, name)
        return not rebound and annotation is not None and said_data(index, module, annotation, depth + 1)
    values = assigned(module, name)
    if len(values) != 1:
        return False
    # A name that is bound otherwise too, as by a loop or in a tuple, has more bindings than assignments.
    bound = [each for each in nodes_in(holder.node) if isinstance(each, ast.Name) and each.id == name.id]
    stored = sum(not isinstance(each.ctx, ast.Load) for each in bound)
    return stored == 1 and is_data(index, module, values[0], depth + 1)


def _makes_data(index: Index, module: Module, function: ast.expr, depth: int) -> bool:
    """A call of jax.numpy, or of a class that declares arrays alone."""
    name = dotted(function)
    if name is None or local_scope(module, function, name.partition(".")[0]) is not None:
        return False
    found = index.resolve(module, name)
    if isinstance(found, External):
        return found.qualname in _DATA or found.qualname.startswith(_MAKERS)
    return isinstance(found, Definition) and _declares_data(index, found, depth + 1)


def _is_part(index: Index, module: Module, part: ast.Attribute) -> bool:
    """`batch.tokens`, of an object of a class of the project that declares it to be an array."""
    owner = class_of(index, module, part.value)
    annotation = fields(owner.node).get(part.attr) if owner is not None else None
    return owner is not None and annotation is not None and said_data(index, owner.module, annotation)


def said_data(index: Index, module: Module, annotation: ast.expr, depth: int = 0) -> bool:
    """Whether an annotation says that something holds no module."""
    if depth > _DEPTH:
        return False
    if isinstance(annotation, ast.Constant):
        if isinstance(annotation.value, str):
            quoted = unquoted(annotation)
            return quoted is not None and said_data(index, module, quoted, depth + 1)
        return annotation.value is None or annotation.value is ...
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return said_data(index, module, left, depth + 1) and said_data(index, module, right, depth + 1)
        case ast.Subscript(value=value, slice=inner):
            if (dotted(value) or "").rpartition(".")[2] in _HOLDERS:
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return all(said_data(index, module, each, depth + 1) for each in parts)
            return _is_array_type(index, module, value)
        case ast.Name() | ast.Attribute():
            return _named(index, module, annotation, depth)
        case _:
            return False


def _named(index: Index, module: Module, annotation: ast.expr, depth: int) -> bool:
    name = dotted(annotation)
    if name in _PLAIN or _is_array_type(index, module, annotation):
        return True
    found = index.resolve(module, name) if name is not None else None
    if isinstance(found, External):
        return found.qualname in _DATA
    return isinstance(found, Definition) and _declares_data(index, found, depth + 1)


def _is_array_type(index: Index, module: Module, node: ast.expr) -> bool:
    name = dotted(node)
    found = index.resolve(module, name) if name is not None else None
    if not isinstance(found, External) or not found.qualname.startswith(_ARRAY_PACKAGES):
        return False
    return found.qualname.rpartition(".")[2] in ARRAY_TYPES | KEY_TYPES


def _declares_data(index: Index, found: Definition, depth: int) -> bool:
    """Whether a class is a `NamedTuple` or a dataclass, of fields that hold no module, and of no other class's."""
    node = found.node
    if depth > _DEPTH or not isinstance(node, ast.ClassDef) or not _is_record(index, found.module, node):
        return False
    said = fields(node)
    if not said or not all(said_data(index, found.module, each, depth + 1) for each in said.values()):
        return False
    heirs = (
        each
        for module in index.modules_with(found.name)
        for statements in module.definitions.values()
        for each in statements
        if isinstance(each, ast.ClassDef) and each is not node
    )
    return not any((dotted(base) or "").rpartition(".")[2] == found.name for heir in heirs for base in heir.bases)


def _is_record(index: Index, module: Module, node: ast.ClassDef) -> bool:
    bases = [index.resolve(module, dotted(each) or "?") for each in node.bases]
    if any(isinstance(each, External) and each.qualname in _RECORDS for each in bases):
        return len(bases) == 1
    named = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return not bases and any(dotted(each) in _DATACLASSES for each in named)
