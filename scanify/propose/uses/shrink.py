"""Reduce sizes in statements of the project: fewer layers, but at least three, and smaller widths."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from scanify.propose.values.roles import ROLES, role_of

_WIDEST = 128
_NARROWEST = 8
_FEWEST, _MOST = 3, ROLES["depth"].value
_WIDTHS = ("dim", "hidden", "inputs", "outputs", "vocab", "other")

Positional = Callable[[ast.Call], Sequence[str]]


def shrink(trees: Sequence[ast.AST], positional: Positional, *, widths: bool) -> None:
    """Change the numbers of `trees` in place. Depths become 3 or 4.

    `widths` are divided by a common power of two that keeps widths of attention divisible by the number of heads.
    `positional` returns the names of a call's positional arguments.
    """
    pairs = [pair for tree in trees for pair in _named(tree, positional)]
    named = [(role_of(name), each, value) for name, expr in pairs for each, value in _ints(expr)]
    for role, each, value in named:
        if role == "depth":
            each.value = min(max(value, _FEWEST), _MOST)
    wide = [(role, each, value) for role, each, value in named if role in _WIDTHS]
    heads = [value for role, _, value in named if role in ("heads", "kv_heads") and value > 0]
    by = 1
    while widths and max((value for *_, value in wide), default=0) // by > _WIDEST:
        by *= 2
    while by > 1 and any(role == "dim" and (value // by) % count for role, _, value in wide for count in heads):
        by //= 2
    for _, each, value in wide:
        if value % by == 0 and value // by >= _NARROWEST:
            each.value = value // by


def _named(tree: ast.AST, positional: Positional) -> Iterator[tuple[str, ast.expr]]:
    """Yield the named values in a tree: keywords, arguments of known calls, entries of dicts, assignments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((each.arg, each.value) for each in node.keywords if each.arg)
            yield from zip(positional(node), node.args, strict=False)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from ((k.value, v) for k, v in pairs if isinstance(k, ast.Constant) and isinstance(k.value, str))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            yield from _assigned(node.targets[0], node.value)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Attribute):
        yield target.attr, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from (pair for one, its in zip(target.elts, value.elts, strict=False) for pair in _assigned(one, its))


def _ints(value: ast.expr) -> Iterator[tuple[ast.Constant, int]]:
    for each in value.elts if isinstance(value, ast.List | ast.Tuple) else (value,):
        if isinstance(each, ast.Constant) and isinstance(each.value, int) and not isinstance(each.value, bool):
            yield each, each.value
