"""Values for a name found in the module's source: in comparisons, passed as arguments, or defaults."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any


def known_value(module: ModuleType, name: str, suits: Callable[[Any], bool]) -> str | None:
    """Return the first value for `name` that `suits`, with names of the module as `module.name`; None without any.

    Literals compared with a variable or field of this name come first, then passed values and defaults.
    """
    for node in (found for kind in (_compared, _passed) for found in kind(tree_of(module), name)):
        if not isinstance(node, ast.Constant | ast.Name | ast.Attribute):
            continue
        try:
            value = eval(compile(ast.Expression(node), "<a value>", "eval"), vars(module))
        except Exception:
            continue
        if suits(value):
            return _Module(module).text(node)
    return None


def attributes(module: ModuleType, name: str) -> list[str]:
    """Return the attributes that the module reads from variables and fields called `name`, in order."""
    nodes = [
        each for each in ast.walk(tree_of(module)) if isinstance(each, ast.Attribute) and _last(each.value) == name
    ]
    return list(dict.fromkeys(each.attr for each in nodes))


def is_indexed(module: ModuleType, name: str) -> bool:
    """True if the module indexes or iterates over something called `name`."""
    nodes = list(ast.walk(tree_of(module)))
    indexed = [each.value for each in nodes if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Load)]
    iterated = [each.iter for each in nodes if isinstance(each, ast.For | ast.comprehension)]
    return name in {each.id for each in (*indexed, *iterated) if isinstance(each, ast.Name)}


def is_count(module: ModuleType, name: str) -> bool:
    """True if the module uses `range(name)` or compares `name` by size."""
    less = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], less):
            if name in map(_last, (node.left, *node.comparators)):
                return True
        elif isinstance(node, ast.Call) and _last(node.func) == "range" and name in map(_last, node.args):
            return True
    return False


@cache
def tree_of(module: ModuleType) -> ast.Module:
    """Return the syntax tree of the module's source; empty without any source."""
    try:
        return ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _compared(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _last(node.left) == name:
            for each in node.comparators:
                yield from each.elts if isinstance(each, ast.Tuple | ast.List | ast.Set) else (each,)
        elif isinstance(node, ast.Match) and _last(node.subject) == name:
            patterns = [one for case in node.cases for one in getattr(case.pattern, "patterns", [case.pattern])]
            yield from (each.value for each in patterns if isinstance(each, ast.MatchValue))
        elif isinstance(node, ast.Subscript) and _last(node.slice) == name and isinstance(node.value, ast.Dict):
            yield from filter(None, node.value.keys)


def _passed(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name:
            yield node.value
        elif isinstance(node, ast.arguments):
            positional = [*node.posonlyargs, *node.args]
            pairs = [*zip(positional[::-1], node.defaults[::-1], strict=False)]
            pairs += [(each, value) for each, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value]
            yield from (value for each, value in pairs if each.arg == name)


class _Module(ast.NodeTransformer):
    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def text(self, node: ast.expr) -> str:
        return ast.unparse(self.visit(ast.parse(ast.unparse(node), mode="eval").body))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        own = hasattr(self.module, node.id) and node.id not in ("jax", "jnp", "eqx")
        return ast.Attribute(ast.Name("module", ast.Load()), node.id, ast.Load()) if own else node
