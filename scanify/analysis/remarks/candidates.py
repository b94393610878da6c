"""The calls of a file that a rule on scans may be about: found by their names before anything else is asked of them."""

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scanify.analysis.index import External, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted

# The last parts of the names of what the rules ask about, and of the methods of stacks.
_FUNCTIONS = frozenset(
    """scan remat_scan init partial remat checkpoint Stacked ArrayStacked merge save_only_these_names
    save_and_offload_only_these_names ScanCheckpointPolicy vmap filter_vmap tree_at""".split()
)
_OF_FLAX = frozenset(
    "remat checkpoint merge remat_scan".split()
)  # those of others are asked about from the scan inside
_METHODS = frozenset("fold scan fold_via scan_via".split())
_STACKS = frozenset({"Stacked", "ArrayStacked", "BlockSeq"})
_PACKAGES = ("jax.", "equinox.", "flax.", "haliax.", "levanter.", "scanify.", "functools.")


def candidates(index: Index, module: Module, *, stacks: bool) -> Iterator[ast.Call]:
    """Such calls, in order of their statements; `stacks` says whether the project knows a stack of layers at all."""
    lines = _lines(module, stacks=stacks)
    if not lines:
        return
    aliases = {
        name
        for name, target in module.imports.items()
        if name not in _FUNCTIONS and target.rpartition(".")[2] in _FUNCTIONS | _STACKS
    }
    if aliases:
        lines = sorted({*lines, *lines_of(module, aliases)})
    for expression in expressions_on(module.tree.body, lines):
        for node in nodes_in(expression):
            if isinstance(node, ast.Call) and _may_be(index, module, node, aliases, stacks):
                yield node


def _lines(module: Module, *, stacks: bool) -> list[int]:
    """The lines with a word that such a call has, of those calls that the file may have by its other words."""
    text = module.text
    words = ["scan", "these_names", "ScanCheckpointPolicy"]
    words += [*_STACKS, *_METHODS, "tree_at"] if stacks else []
    words += ["remat", "merge"] if "flax" in text else []
    words += ["vmap", ":-"] if "split(" in text and "vmap" in text else []
    return lines_of(module, words)


def lines_of(module: Module, words: Iterable[str]) -> list[int]:
    """The lines of a file on which one of some texts stands."""
    found = set()
    for word in words:
        at = module.text.find(word)
        while at >= 0:
            found.add(module.line_of(at))
            at = module.text.find(word, at + 1)
    return sorted(found)


def expressions_on(body: Iterable[ast.AST], lines: Sequence[int]) -> Iterator[ast.AST]:
    """The expressions of statements that have one of some lines in them; other statements are not looked at."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom) or not _has(statement, lines):
            continue
        for value in (getattr(statement, name, None) for name in statement._fields):
            parts: list[Any] = value if isinstance(value, list) else [value]
            if parts and isinstance(parts[0], ast.stmt | ast.excepthandler | ast.match_case):
                yield from expressions_on(parts, lines)
            else:
                yield from (each for each in parts if isinstance(each, ast.AST) and _has(each, lines))


def _has(node: ast.AST, lines: Sequence[int]) -> bool:
    first = getattr(node, "lineno", None)
    if first is None:
        return True  # arguments, a case of a `match`
    first = min([first, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= (getattr(node, "end_lineno", None) or first)


def _may_be(index: Index, module: Module, call: ast.Call, aliases: set[str], stacks: bool) -> bool:
    function = call.func.func if isinstance(call.func, ast.Call) else call.func
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    if stacks and last in _METHODS and isinstance(function, ast.Attribute):
        return True
    if isinstance(call.func, ast.Name) and _given_a_slice(call):
        return True  # a function that is mapped, by a name of its own
    if last not in _FUNCTIONS and last not in aliases:
        return False
    if last == "init":
        holder = dotted(function.value) if isinstance(function, ast.Attribute) else None
        return holder is not None and (holder.rpartition(".")[2] in _STACKS or holder in aliases)
    if last == "partial":
        given = call.args[0] if call.args else None
        if (dotted(given) or "").rpartition(".")[2] not in _FUNCTIONS | aliases:
            return False
    if last in ("vmap", "filter_vmap") and not _of_a_slice(call):
        return False
    name = dotted(function)
    if name is None:
        return False
    if not module.binds(name.partition(".")[0]):
        return True  # imported in a function, or by a star
    found = index.resolve(module, name)
    packages = ("flax.",) if last in _OF_FLAX else _PACKAGES
    return isinstance(found, External) and found.qualname.startswith(packages)


def _of_a_slice(call: ast.Call) -> bool:
    """`vmap(f)(keys[1:-1])`."""
    return isinstance(call.func, ast.Call) and _given_a_slice(call)


def _given_a_slice(call: ast.Call) -> bool:
    return any(isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice) for each in call.args)
