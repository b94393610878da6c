"""Recognise one random key, or a plain array, by the syntax and names of an expression."""

import ast
import re

from scanify.analysis.language.tables import ARRAY_TYPES, KEY_TYPES
from scanify.analysis.lists.declared import last_name, options_of
from scanify.analysis.lists.home import is_none
from scanify.analysis.lower.scope import parameters
from scanify.analysis.remarks.view import View, bindings

_DEEPEST = 8  # nested names and calls
# `key_mask` is not a key, and `sort_key` is not a random one.
_OF = r"(drop\w*|sampl\w*|noise|init|random|prng|layers?|model|train\w*|step)_"
_ONE_KEY = re.compile(rf"(\w+_)?rng\d*|({_OF})?(sub)?key\d*")
_MANY_KEYS = re.compile(rf"(\w+_)?rngs\d*|({_OF})?(sub)?keys\d*")
_OF_ATTENTION = frozenset("query queries value values q v".split())
_MAKES_KEY = frozenset(f"jax.random.{name}" for name in "key PRNGKey fold_in clone wrap_key_data".split())


def is_one_key(view: View, node: ast.expr, depth: int = 0) -> bool:
    """True if an expression is known to be one random key. The name of a parameter can be evidence."""
    match node:
        case _ if depth > _DEEPEST:
            return False
        case ast.Call(func=function):
            return view.called(function) in _MAKES_KEY
        case ast.Subscript(value=value, slice=index):
            return not isinstance(index, ast.Slice | ast.Tuple) and _are_keys(view, value, depth + 1)
        case ast.IfExp(body=body, orelse=other):
            parts = [each for each in (body, other) if not is_none(each)]
            return bool(parts) and all(is_one_key(view, each, depth + 1) for each in parts)
        case ast.Name():
            found = bindings(view.module, node)
            return bool(found) and all(_binds_key(view, node, *each, depth + 1) for each in found)
        case _:
            return False


def _binds_key(view: View, name: ast.Name, statement: ast.AST, value: ast.expr | None, depth: int) -> bool:
    if isinstance(statement, ast.arg):
        return _is_declared_key(view, statement, _ONE_KEY)
    if isinstance(value, ast.expr):
        return is_none(value) or is_one_key(view, value, depth)
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=whole):  # `key, sub = jax.random.split(key)`
            by_itself = any(isinstance(each, ast.Name) and each.id == name.id for each in parts)
            return by_itself and _are_keys(view, whole, depth)
        case _:
            return False


def _is_declared_key(view: View, parameter: ast.arg, names: re.Pattern[str]) -> bool:
    """True if a parameter is annotated as a key, or has one of some names and at most an array annotation."""
    said = _type(parameter.annotation)
    attends = any(each.arg in _OF_ATTENTION for each in parameters(next(view.functions_around(parameter))))
    called_key = (not said or said in ARRAY_TYPES) and names.fullmatch(parameter.arg) is not None and not attends
    return said in KEY_TYPES or called_key


def _are_keys(view: View, node: ast.expr, depth: int) -> bool:
    """True if an expression is known to be several keys."""
    if isinstance(node, ast.Call):
        return view.called(node.func) == "jax.random.split"
    match bindings(view.module, node) if isinstance(node, ast.Name) and depth <= _DEEPEST else []:
        case [(ast.arg() as parameter, _)]:
            return _is_declared_key(view, parameter, _MANY_KEYS)
        case found:
            return bool(found) and all(value is not None and _are_keys(view, value, depth + 1) for _, value in found)


def is_array_parameter(view: View, name: ast.Name) -> bool:
    """True for a parameter that is annotated as a plain array and never rebound."""
    match bindings(view.module, name):
        case [(ast.arg(annotation=annotation), _)]:
            return _type(annotation) in ARRAY_TYPES
        case _:
            return False


def _type(annotation: ast.expr | None) -> str:
    """Return the last name of the type that an annotation allows besides None; `|` for several types."""
    options = [each for each in options_of(annotation) if not is_none(each)]
    names = {last_name(each.value if isinstance(each, ast.Subscript) else each) for each in options}
    return names.pop() if len(names) == 1 else "|" * bool(names)
