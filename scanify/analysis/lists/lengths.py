"""The number of elements of a container, if its expression shows it."""

import ast
from typing import Any

from scanify.analysis.index.meaning import Definition
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.objects import assigned_values, class_of, home_of

_COPIES = frozenset({"list", "tuple", "jax.numpy.array", "jax.numpy.asarray", "jax.numpy.stack"})
_SHAPED = frozenset(f"jax.numpy.{name}" for name in ("ones", "zeros", "full", "empty"))


def length_of(home: Home, node: ast.expr, seen: frozenset[str] = frozenset()) -> str | None:
    """Return the number of elements as text, `3` or `depth - 1`; None if it is not written plainly.

    Names and fields are followed to the one expression that they are assigned.
    """
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return None if any(isinstance(each, ast.Starred) for each in parts) else str(len(parts))
        case ast.BinOp(left=ast.List(elts=parts), op=ast.Mult(), right=ast.Constant(value=int(times))):
            return str(len(parts) * times)
        case ast.ListComp(generators=[level]) | ast.GeneratorExp(generators=[level]) if not level.ifs:
            return length_of(home, level.iter, seen)
        case ast.Subscript(value=value, slice=ast.Slice() as part):
            whole = length_of(home, value, seen) or ""
            bounds = [_literal(each) for each in (part.lower, part.upper, part.step)]
            return str(len(range(int(whole))[slice(*bounds)])) if whole.isdecimal() and "" not in bounds else None
        case ast.Call():
            return _of_call(home, node, seen)
        case ast.Name() | ast.Attribute() if (text := ast.unparse(node)) not in seen:
            stored = _only_value(home, node)
            return length_of(*stored, seen | {text}) if stored is not None else None
        case _:
            return None


def _of_call(home: Home, node: ast.Call, seen: frozenset[str]) -> str | None:
    name, args = home.builtin(node) or home.library(node), node.args
    named = {each.arg: each.value for each in node.keywords}
    match name:
        case _ if name in _COPIES and args:
            return length_of(home, args[0], seen)
        case "range" | "jax.numpy.arange" if len(args) == 1:
            return _number(home, args[0])
        case "range" | "jax.numpy.arange" if len(args) == 2:
            first, last = map(_literal, args)
            return str(max(0, last - first)) if isinstance(first, int) and isinstance(last, int) else None
        case "jax.random.split":
            return _number(home, [*args[1:], named.get("num")][0])
        case "jax.numpy.linspace":
            return _number(home, [*args[2:], named.get("num")][0])
        case _ if name in _SHAPED and args:
            return _number(home, args[0].elts[0] if isinstance(args[0], ast.Tuple) and args[0].elts else args[0])
        case _:
            return None


def _number(home: Home, node: ast.expr | None) -> str | None:
    """A number, or a parameter that is bound once with a number added to it or subtracted."""
    match node:
        case ast.Constant(value=int(number)):
            return str(number)
        case ast.Name(id=name) if home.is_parameter(name) and not home.values_of(name):
            return name
        case ast.BinOp(left=ast.Name() as left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            return ast.unparse(node) if _number(home, left) is not None else None
        case ast.Attribute() if (stored := _only_value(home, node)) is not None:
            return _number(home, stored[1]) if isinstance(stored[1], ast.Constant) else None
        case _:
            return None


def _literal(node: ast.expr | None) -> Any:
    """The number of `-1`; an empty text for any other expression."""
    try:
        return None if node is None else int(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError):
        return ""


def _only_value(home: Home, node: ast.Name | ast.Attribute) -> tuple[Home, ast.expr] | None:
    """The one expression that a local name is assigned, or a field by the methods of its class."""
    if isinstance(node, ast.Name):
        values = [value for _, value in home.values_of(node.id)]
        return (home, values[0]) if len(values) == 1 and values[0] and not home.is_parameter(node.id) else None
    owner = class_of(home.project, home.module, node.value)
    stored = list(assigned_values(home.project, owner, node.attr)) if isinstance(owner, Definition) else []
    return (home_of(home.project, *stored[0]), stored[0][1]) if len(stored) == 1 else None
