"""What an expression is, by the syntax that shows it: one random key, a plain array, a whole number."""

import ast
import operator
import re
from collections.abc import Callable, Mapping

from scanify.analysis.index import Definition
from scanify.analysis.language.tables import ARRAY_TYPES, KEY_TYPES
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.remarks.seen import Seen
from scanify.analysis.remarks.stacks import annotation_of, assigned
from scanify.analysis.watchers.names import bindings_of, local_scope

_DEPTH = 8
# Of `key_mask` and `sort_key` the one is no key, and the other none of random numbers.
_OF = r"(drop\w*|sampl\w*|noise|init|random|prng|layers?|model|train\w*|step)_"
_ONE_KEY = re.compile(rf"(\w+_)?rng\d*|({_OF})?(sub)?key\d*")
_OF_ATTENTION = frozenset("query queries value values q v".split())
_MANY_KEYS = re.compile(rf"(\w+_)?rngs\d*|({_OF})?(sub)?keys\d*")
_MAKES_KEY = frozenset(f"jax.random.{name}" for name in "key PRNGKey fold_in clone wrap_key_data".split())
_SPLIT = "jax.random.split"
_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda one, other: one // other if other else 0,
}


def whole_number(seen: Seen, node: ast.expr, depth: int = 0) -> int | None:
    """Return the number that an expression is wherever it is reached; None if it may be another one."""
    meant = seen.meant(node)
    match meant:
        case ast.Constant(value=int(value)) if type(value) is int:
            return value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS and depth < _DEPTH:
            one, other = whole_number(seen, left, depth + 1), whole_number(seen, right, depth + 1)
            return _OPERATIONS[type(op)](one, other) if one is not None and other is not None else None
        case _:
            return None


def is_one_key(seen: Seen, node: ast.expr, depth: int = 0) -> bool:
    """True if an expression is shown to be one random key. A parameter may be shown to be one by its name."""
    if depth > _DEPTH:
        return False
    match node:
        case ast.Call(func=function):
            return seen.called(function) in _MAKES_KEY
        case ast.Subscript(value=value, slice=index):
            return not isinstance(index, ast.Slice | ast.Tuple) and _are_keys(seen, value, depth + 1)
        case ast.IfExp(body=body, orelse=other):
            parts = [each for each in (body, other) if not _is_none(each)]
            return bool(parts) and all(is_one_key(seen, each, depth + 1) for each in parts)
        case ast.Name():
            return _is_named_key(seen, node, depth)
        case _:
            return False


def _is_named_key(seen: Seen, name: ast.Name, depth: int) -> bool:
    scope = local_scope(seen.module, name, name.id)
    if scope is None:
        found = seen.index.resolve(seen.module, name.id)
        own = isinstance(found, Definition) and found.module is seen.module and isinstance(found.node, ast.Assign)
        return own and is_one_key(seen, found.node.value, depth + 1)  # type: ignore[union-attr]
    if name.id in scope.params and not _is_declared_key(seen, name, _ONE_KEY):
        return False
    bound = bindings_of(scope, name.id)
    return bool(bound or name.id in scope.params) and all(_binds_key(seen, each, name.id, depth) for each in bound)


def _is_declared_key(seen: Seen, name: ast.Name, names: re.Pattern[str]) -> bool:
    """True if a parameter is annotated as a key, or has no annotation but that of an array and one of some names."""
    said = _type(annotation_of(seen.module, name))
    if said in KEY_TYPES:
        return True
    scope = local_scope(seen.module, name, name.id)
    attends = scope is not None and not _OF_ATTENTION.isdisjoint(scope.params)
    return (not said or said in ARRAY_TYPES) and bool(names.fullmatch(name.id)) and not attends


def _binds_key(seen: Seen, node: ast.AST, name: str, depth: int) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
            return _is_none(value) or is_one_key(seen, value, depth + 1)
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
            alone = any(isinstance(each, ast.Name) and each.id == name for each in parts)
            return alone and _are_keys(seen, value, depth + 1)
        case ast.For(target=ast.Name(), iter=walked) | ast.comprehension(target=ast.Name(), iter=walked):
            return _are_keys(seen, walked, depth + 1)
        case _:
            return False


def _are_keys(seen: Seen, node: ast.expr, depth: int) -> bool:
    """True if an expression is shown to be several keys."""
    if isinstance(node, ast.Call):
        return seen.called(node.func) == _SPLIT
    if not isinstance(node, ast.Name) or depth > _DEPTH:
        return False
    scope = local_scope(seen.module, node, node.id)
    values = assigned(seen.module, node)
    if scope is not None and node.id in scope.params and not values:
        return _is_declared_key(seen, node, _MANY_KEYS)
    return bool(values) and all(_are_keys(seen, each, depth + 1) for each in values)


def is_array_parameter(seen: Seen, node: ast.expr) -> bool:
    """True for a parameter that is annotated as a plain array and not bound again."""
    scope = local_scope(seen.module, node, node.id) if isinstance(node, ast.Name) else None
    if scope is None or not isinstance(node, ast.Name) or node.id not in scope.params or bindings_of(scope, node.id):
        return False
    return _type(annotation_of(seen.module, node)) in ARRAY_TYPES


def _type(annotation: ast.expr | None) -> str:
    """The last name of an annotation without `None`, `Optional` and what is in brackets."""
    match plain := unquoted(annotation) if annotation is not None else None:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            names = {_type(each) for each in (left, right) if not _is_none(each)}
            return names.pop() if len(names) == 1 else "|"
        case ast.Subscript(value=value, slice=inner):
            name = (dotted(value) or "").rpartition(".")[2]
            return _type(inner) if name in ("Optional", "Final") else name
        case _:
            return (dotted(plain) or "").rpartition(".")[2]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
