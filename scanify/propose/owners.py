"""Find the class and method that contain each layer loop of a file."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Owner:
    """The innermost class around some loops, by qualified name, their methods, and the lines of the loops' bodies."""

    cls: str | None
    methods: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


def owners(text: str, spans: Iterable[tuple[int, int]]) -> list[Owner]:
    """Return the owners of the loops whose bodies are at the lines `spans`, in order. Raises SyntaxError."""
    tree = ast.parse(text)
    grouped: dict[str | None, list[tuple[str | None, tuple[int, int]]]] = {}
    for span in spans:
        cls, method = _around(tree, span[0])
        grouped.setdefault(cls, []).append((method, span))
    return [
        Owner(cls, tuple(dict.fromkeys(method for method, _ in found if method)), tuple(span for _, span in found))
        for cls, found in grouped.items()
    ]


def class_names(text: str) -> list[str]:
    """Return the qualified names of all top-level classes and the classes nested in them. Raises SyntaxError."""

    def within(body: list[ast.stmt], prefix: str) -> list[str]:
        found: list[str] = []
        for node in body:
            if isinstance(node, ast.ClassDef):
                found += [prefix + node.name, *within(node.body, f"{prefix}{node.name}.")]
        return found

    return within(ast.parse(text).body, "")


def _around(tree: ast.Module, line: int) -> tuple[str | None, str | None]:
    classes: list[str] = []
    method: str | None = None
    body: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while body:
        node = body.pop()
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or 0
        if not first <= line <= last:
            continue
        if isinstance(node, ast.ClassDef):
            if method is None:
                classes.append(node.name)
        elif isinstance(node, ast.FunctionDef) and method is None and classes:
            method = node.name
        body = list(ast.iter_child_nodes(node))
    return (".".join(classes) or None), method
