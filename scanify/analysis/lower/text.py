"""Expressions as text: dotted names, and whether evaluating an expression twice gives the same value."""

import ast
import keyword
from collections.abc import Container
from typing import TypeVar

from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in

_MADE = "_made_in_lowering"
Node = TypeVar("Node", bound=ast.AST)


def made(node: Node, like: ast.AST) -> Node:
    """Mark a node as created by a lowering, with the position of another; its text comes from the node itself."""
    setattr(node, _MADE, True)
    return ast.copy_location(node, like)


def is_made(node: ast.AST) -> bool:
    """True if a node was created by a lowering and is not in the file."""
    return getattr(node, _MADE, False) is True


def code(module: Module, node: ast.AST) -> str:
    """Return the text of a node: from the file, or unparsed if the node was created by a lowering."""
    return ast.unparse(node) if is_made(node) else module.code(node)


def dotted(node: ast.AST | None) -> str | None:
    """Return `a.b.c` for a name or a chain of attributes of a name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def unquoted(annotation: ast.expr) -> ast.expr | None:
    """Return an annotation as an expression, parsed if it is a string; None if it cannot be parsed."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return None
    return annotation


def container_text(node: ast.AST | None) -> str | None:
    """Return the text of an expression that always names the same container, None for any other.

    Such are `self.grus`, `self.grus[i]` and `params["layers"]`.
    """
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        inner = container_text(node.value)
        number = isinstance(node.slice, ast.Constant) or arithmetic(node.slice)
        return f"{inner}[{ast.unparse(node.slice)}]" if inner is not None and number else None
    if isinstance(node, ast.Attribute):
        inner = container_text(node.value)
        return f"{inner}.{node.attr}" if inner is not None else None
    return node.id if isinstance(node, ast.Name) else None


def root(node: ast.AST | None) -> str | None:
    """Return the name at the root of a chain of attributes, elements and calls."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def called(node: ast.AST | None) -> str | None:
    """Return the dotted name of the function that a call calls."""
    return dotted(node.func) if isinstance(node, ast.Call) else None


def only_argument(call: ast.Call) -> ast.expr | None:
    """Return the argument of a call with a single, positional one."""
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return None
    return call.args[0]


def arithmetic(node: ast.expr) -> bool:
    """True if an expression is a number computed from names, so that evaluating it twice is safe."""
    match node:
        case ast.Constant():
            return type(node.value) is int
        case ast.Name() | ast.Attribute():
            return dotted(node) is not None
        case ast.UnaryOp(op=ast.USub()):
            return arithmetic(node.operand)
        case ast.BinOp():
            return arithmetic(node.left) and arithmetic(node.right)
        case ast.Call() if called(node) == "len":
            inner = only_argument(node)
            return inner is not None and container_text(inner) is not None
        case _:
            return False


def pure(node: ast.expr | None) -> bool:
    """True if evaluating an expression again gives the same number: arithmetic, `min`, `max`, an element of a shape."""
    match node:
        case None:
            return True
        case ast.BinOp():
            return pure(node.left) and pure(node.right)
        case ast.UnaryOp():
            return pure(node.operand)
        case ast.Call() if called(node) in ("len", "min", "max", "int", "abs") and not node.keywords:
            return all(not isinstance(each, ast.Starred) and pure(each) for each in node.args)
        case ast.Subscript(slice=index):
            return dotted(node.value) is not None and not isinstance(index, ast.Slice) and pure(index)
        case _:
            return arithmetic(node)


def label(node: ast.expr) -> bool:
    """True if an expression is a string built from numbers: `f"block{i:02d}"`, `"block" + str(i)`, `"block%d" % i`."""
    match node:
        case ast.JoinedStr(values):
            parts = [each for each in nodes_in(node) if isinstance(each, ast.FormattedValue)]
            return all(each in values and arithmetic(each.value) for each in parts)
        case ast.BinOp(left, ast.Add() | ast.Mod(), right):
            return label(left) and (label(right) or arithmetic(right))
        case ast.Call(ast.Name("str"), [number], []):
            return arithmetic(number)
        case _:
            return isinstance(node, ast.Constant) and isinstance(node.value, str)


def singular(container: str, otherwise: str = "") -> str:
    """Return a name for one element: `layer` for `self.layers`; without a plural, `otherwise` plus the name."""
    last = container.partition("[")[0].rpartition(".")[2].lstrip("_")
    plural = last.endswith("s") and not last.endswith("ss")
    name = last[:-1] if plural else f"{otherwise}{last}" if otherwise else ""
    return name if name.isidentifier() and not keyword.iskeyword(name) and not name[0].isupper() else "layer"


def unused(name: str, used: Container[str]) -> str:
    """Return a name, with a number appended if it is used."""
    candidate, number = name, 2
    while candidate in used:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
