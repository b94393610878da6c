"""The files of a project that may call a class: tests, scripts, modules, docstrings and Markdown pages."""

from __future__ import annotations

import ast
import contextlib
import doctest
import os
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from scanify.propose.uses.slices import calls_in, demand_values
from scanify.propose.values.known import tree_of
from scanify.propose.values.names import GiveUp
from scanify.verify.versions.project import project_directory

_MOST_FILES = 600
_LONGEST = 300_000
_SKIPPED = re.compile(r"\..*|__pycache__|node_modules|build|dist|site-packages|venv|env")
_BLOCK = re.compile(r"^```(?:python|py)\b[^\n]*\n(.*?)^```", re.M | re.S)


@dataclass(frozen=True)
class Code:
    """Python code: a file, an example in a docstring, or a code block of a page, whose first line is `first`.

    `shared` are the statements of `conftest.py` files in the same folder or above.
    """

    path: Path
    first: int
    tree: ast.Module
    example: bool = False
    shared: tuple[ast.stmt, ...] = ()


def builders(module: ModuleType, cls: str) -> frozenset[str]:
    """Return `cls` and the names of functions in its file that use it, directly or through one another."""
    functions = [each for each in tree_of(module).body if isinstance(each, ast.FunctionDef)]
    called = {each.name: {one.id for one in ast.walk(each) if isinstance(one, ast.Name)} for each in functions}
    found = {cls}
    while more := {name for name, names in called.items() if names & found} - found:
        found |= more
    return frozenset(found)


def presets(module: ModuleType, cls: str) -> Iterator[tuple[str, bool]]:
    """Yield the functions of the file that build `cls` without loading anything, and whether each returns a pair."""
    for function in tree_of(module).body:
        if not isinstance(function, ast.FunctionDef) or function.name not in builders(module, cls):
            continue
        answers = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
        with contextlib.suppress(GiveUp):
            demand_values(function)
            yield function.name, bool(answers) and isinstance(answers[-1], ast.Tuple)


def codes(target: Path, names: Set[str]) -> Iterator[Code]:
    """Yield the code in the project of `target` that contains one of `names`: tests, then scripts, then others.

    Files that this Python version cannot parse are skipped.
    """
    root = project_directory(target) or target.parent
    for path in sorted(_files(root), key=lambda path: (_rank(path.relative_to(root)), path)):
        try:
            text = path.read_text(encoding="utf-8") if path.stat().st_size <= _LONGEST else ""
        except (OSError, UnicodeDecodeError):
            continue
        if any(re.search(rf"\b{name}\b", text) for name in names):
            yield from _page(path, text) if path.suffix == ".md" else _module(path, text, root)


def script_with(target: Path, name: str) -> Path | None:
    """Return the first test or script of the project, other than `target`, that calls `name`; None without one."""
    for code in codes(target, {name}):
        runs = "test" in code.path.name or any("__main__" in ast.unparse(each) for each in code.tree.body)
        if runs and not code.example and code.path != target and any(calls_in(code.tree, {name})):
            return code.path
    return None


def _files(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, below, names in os.walk(root):
        below[:] = sorted(each for each in below if not _SKIPPED.fullmatch(each))
        found += [Path(folder, each) for each in sorted(names) if each.endswith((".py", ".md"))]
        if len(found) >= _MOST_FILES:
            break
    return found[:_MOST_FILES]


def _rank(path: Path) -> int:
    said = str(path).lower()
    return next((i for i, word in enumerate(("test", "example", "script", "train", "demo")) if word in said), 9)


def _module(path: Path, text: str, root: Path) -> Iterator[Code]:
    tree = _parsed(text)
    if tree is None:
        return
    above = [folder / "conftest.py" for folder in path.parents if folder.is_relative_to(root)]
    shared = [_parsed(each.read_text(encoding="utf-8")) for each in reversed(above) if each.is_file() and each != path]
    yield Code(path, 1, tree, shared=tuple(one for each in shared if each for one in each.body))
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module) or not (said := ast.get_docstring(node)):
            continue
        first = node.body[0].lineno
        blocks = [each[1] for each in _BLOCK.finditer(said)]
        with contextlib.suppress(ValueError):
            blocks.append("".join(each.source for each in doctest.DocTestParser().get_examples(said)))
        yield from (Code(path, first, parsed, True) for each in blocks if (parsed := _parsed(each)))


def _page(path: Path, text: str) -> Iterator[Code]:
    for each in _BLOCK.finditer(text):
        if parsed := _parsed(each[1]):
            yield Code(path, text[: each.start(1)].count("\n") + 1, parsed, True)


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None
