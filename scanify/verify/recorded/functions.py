"""The functions that are watched in a run: those with the loops that a rewrite removes."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from scanify.verify.profile.source_loops import Loop
from scanify.verify.request import Change
from scanify.verify.versions.loaded import REWRITTEN

_CONSTRUCTORS = ("__init__", "__post_init__", "__new__")


@dataclass(frozen=True, order=True)
class Function:
    """A function by the real path of its file and its dotted name, without `<locals>`."""

    file: str
    name: str


def function_of(code: CodeType) -> Function:
    """Return the function of a code object, in either version."""
    path = os.path.realpath(code.co_filename.removesuffix(REWRITTEN))
    return Function(path, code.co_qualname.replace(".<locals>", ""))


def functions_with(loops: Mapping[str, Sequence[Loop]]) -> dict[Function, list[Loop]]:
    """Return the functions that contain these loops, by the real path of their file.

    Constructors, which are compared by their results, and loops of a module or class body are skipped.
    """
    found: dict[Function, list[Loop]] = {}
    for path, some in loops.items():
        for loop in some:
            function = function_of_loop(path, loop)
            if function is not None:
                found.setdefault(function, []).append(loop)
    return found


def function_of_loop(path: str, loop: Loop) -> Function | None:
    """Return the function that contains a loop; None if it is in a constructor, a module or a class body."""
    watched = loop.scope and loop.scope.rpartition(".")[2] not in _CONSTRUCTORS
    return Function(path, loop.scope) if watched else None


def lines_of(wanted: Mapping[Function, Sequence[Loop]]) -> dict[Function, tuple[Set[int], Set[int]]]:
    """Return the lines of the heads of each function's loops, and the first lines of their bodies.

    Functions with loops other than statements, or with bodies on the line of the head, are skipped.
    """
    return {
        function: ({loop.turn[0] for loop in loops}, {loop.start[0] for loop in loops})
        for function, loops in wanted.items()
        if all(loop.head.startswith("for ") and loop.start[0] > loop.turn[0] for loop in loops)
    }


def same_outside(changes: Iterable[Change], functions: Set[Function]) -> bool:
    """True if both versions have the same source except for these functions and imports of `scanify`."""
    return all(
        _outside(change.original, change.path, functions) == _outside(change.rewritten, change.path, functions)
        for change in changes
    )


def _outside(data: bytes | None, path: Path, functions: Set[Function]) -> str | None:
    if data is None:
        return None
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return None
    names = {function.name for function in functions if function.file == os.path.realpath(path)}
    tree.body = [node for node in tree.body if not _imports_scanify(node)]
    _empty(tree, names, "")
    return ast.dump(tree)


def _empty(node: ast.AST, names: Set[str], scope: str) -> None:
    """Empty the bodies of the named functions in a tree."""
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{scope}.{child.name}" if scope else child.name
            if inner in names:
                child.body = []
        _empty(child, names, inner)


def _imports_scanify(node: ast.stmt) -> bool:
    match node:
        case ast.ImportFrom(module=str(module)):
            return module.partition(".")[0] == "scanify"
        case ast.Import(names=names):
            return all(each.name.partition(".")[0] == "scanify" for each in names)
    return False
