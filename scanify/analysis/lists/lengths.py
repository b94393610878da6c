"""The number of elements of a container, if its expression shows it."""

import ast
from collections.abc import Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.objects import assigned_values, home_of

_COPIES = frozenset({"list", "tuple", "jax.numpy.array", "jax.numpy.asarray", "jax.numpy.stack"})
_SHAPED = frozenset(f"jax.numpy.{name}" for name in ("ones", "zeros", "full", "empty"))


def length_of(home: Home, node: ast.expr, seen: frozenset[str] = frozenset()) -> str | None:
    """Return the number of elements as text, `3` or `depth - 1`; None if it is not written plainly.

    Names and fields are followed to the one expression that they are assigned.
    """
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return None if any(isinstance(each, ast.Starred) for each in parts) else str(len(parts))
        case ast.BinOp(left=ast.List() as listed, op=ast.Mult(), right=times):
            return _product(length_of(home, listed), _number(home, times))
        case ast.ListComp(generators=[level]) | ast.GeneratorExp(generators=[level]) if not level.ifs:
            return length_of(home, level.iter, seen)
        case ast.Subscript(value=value, slice=ast.Slice() as part):
            return _part(length_of(home, value, seen), part)
        case ast.Call():
            return _of_call(home, node, seen)
        case ast.Name(id=name) if name not in seen:
            values = home.values_of(name)
            only = values[0][1] if len(values) == 1 and not home.is_parameter(name) else None
            return length_of(home, only, seen | {name}) if only is not None else None
        case ast.Attribute(value=ast.Name()) if node.attr not in seen:
            stored = _of_field(home, node)
            return length_of(stored[0], stored[1], seen | {node.attr}) if stored is not None else None
        case _:
            return None


def _of_call(home: Home, node: ast.Call, seen: frozenset[str]) -> str | None:
    name, args = home.builtin(node) or home.library(node), node.args
    named = {each.arg: each.value for each in node.keywords}
    match name:
        case _ if name in _COPIES and args:
            return length_of(home, args[0], seen)
        case "range" | "jax.numpy.arange" if args and not named:
            return _number(home, args[0]) if len(args) == 1 else _between(home, args)
        case "jax.random.split":
            return _number(home, [*args[1:], named.get("num")][0])
        case "jax.numpy.linspace":
            return _number(home, [*args[2:], named.get("num")][0])
        case _ if name in _SHAPED and args:
            first = args[0].elts[0] if isinstance(args[0], ast.Tuple) and args[0].elts else args[0]
            return _number(home, first)
        case _:
            return None


def _between(home: Home, args: Sequence[ast.expr]) -> str | None:
    first, last = (_number(home, each) or "" for each in args[:2])
    plain = first.isdecimal() and last.isdecimal() and len(args) == 2
    return str(max(0, int(last) - int(first))) if plain else None


def _number(home: Home, node: ast.expr | None) -> str | None:
    """A number, or a parameter that is bound once with a number added to it or subtracted."""
    match node:
        case ast.Constant(value=int(number)):
            return str(number)
        case ast.Name(id=name) if home.is_parameter(name) and not home.values_of(name):
            return name
        case ast.BinOp(left=ast.Name() as left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            return ast.unparse(node) if _number(home, left) is not None else None
        case ast.Attribute(value=ast.Name()):
            stored = _of_field(home, node)
            return _number(*stored) if stored is not None and isinstance(stored[1], ast.Constant) else None
        case _:
            return None


def _product(one: str | None, other: str | None) -> str | None:
    if one is None or other is None or not (one.isdecimal() and other.isdecimal()):
        return None
    return str(int(one) * int(other))


def _part(whole: str | None, part: ast.Slice) -> str | None:
    bounds: list[int | None] = []
    for each in (part.lower, part.upper, part.step):
        try:
            bounds.append(None if each is None else int(ast.literal_eval(each)))
        except (ValueError, TypeError, SyntaxError):
            return None
    return str(len(range(int(whole))[slice(*bounds)])) if whole is not None and whole.isdecimal() else None


def _of_field(home: Home, node: ast.Attribute) -> tuple[Home, ast.expr] | None:
    """The one expression that the classes of an object assign to a field."""
    function = home.function
    own = function is not None and function.args.args[:1] and function.args.args[0].arg
    owner = next(
        (cls for cls in ast.walk(home.module.tree) if isinstance(cls, ast.ClassDef) and function in cls.body), None
    )
    meaning = home.project.index.resolve(home.module, owner.name) if owner is not None else None
    if not isinstance(meaning, Definition) or getattr(node.value, "id", None) != own:
        return None
    values = list(assigned_values(home.project, meaning, node.attr))
    if len(values) != 1:
        return None
    module, value = values[0]
    return home_of(home.project, module, value), value
