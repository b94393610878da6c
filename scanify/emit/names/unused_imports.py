"""Imports that a rewrite left unused, which a person would remove in the same change."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scanify.emit.edits import Edit
from scanify.emit.loops.enclosing import Module, module
from scanify.emit.text.house_style import house_style
from scanify.emit.text.newlines import LINE_END, line_start, next_line
from scanify.source.notebook.magics import names_in_magics

_Import = ast.Import | ast.ImportFrom
_NOQA = re.compile(r"#\s*(noqa|type:\s*ignore|isort:|pylint:|ruff:|pyright:)", re.IGNORECASE)


@dataclass(frozen=True)
class _Bound:
    """A name that an import binds: its statement, its alias, and the block around the statement."""

    name: str
    alias: ast.alias
    statement: _Import
    block: list[ast.stmt]


def unused_imports(path: Path, texts: Mapping[Path, str], after: str) -> list[Edit]:
    """Return the edits that remove imported names which were used before and are unused in `after`.

    A name stays if others may read it: in `__init__.py`, in `__all__`, under `import x as x`, with `# noqa`, in a
    doctest, in a string that is an expression, or if another file imports it from this one.
    """
    before, new = module(texts[path]), module(after)
    if before is None or new is None or path.name == "__init__.py" or _has_star(before.tree):
        return []
    used, still = used_names(before.tree), used_names(new.tree) | names_in_magics(after)
    others = {other: text for other, text in texts.items() if other != path}
    dropped: dict[_Import, list[ast.alias]] = {}
    blocks: dict[_Import, list[ast.stmt]] = {}
    for bound in _imports(before.tree):
        if bound.name not in used or bound.name in still or _is_exported(bound, path, others):
            continue
        if bound.name not in _imported_names(new.tree):  # the rewrite has dealt with it
            continue
        dropped.setdefault(bound.statement, []).append(bound.alias)
        blocks[bound.statement] = bound.block
    edits = (_without(path, before, node, aliases, blocks[node]) for node, aliases in dropped.items())
    return [edit for edit in edits if edit is not None]


def used_names(tree: ast.AST) -> set[str]:
    """Return the names that a module reads, including in strings that are expressions and in doctests."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                found.add(name)
            case ast.Constant(value=str(text)):
                found |= _in_string(text)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found |= set(names)
    return found


def _in_string(text: str) -> set[str]:
    """Return the names in a forward reference, an entry of `__all__`, or the examples of a docstring."""
    if ">>>" in text:
        lines = (line.strip() for line in text.splitlines())
        return {name for line in lines if line[:3] in (">>>", "...") for name in re.findall(r"\w+", line)}
    if len(text) > 400 or not re.match(r"[\s\w.\[\],|'\"()*-]+\Z", text):
        return set()
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _imports(tree: ast.AST) -> Iterator[_Bound]:
    for node in ast.walk(tree):
        for block in (getattr(node, field, None) for field in ("body", "orelse", "finalbody")):
            if not isinstance(block, list) or isinstance(node, ast.Try | ast.ExceptHandler):
                continue
            for statement in block:
                if isinstance(statement, _Import) and getattr(statement, "module", None) != "__future__":
                    for alias in statement.names:
                        name = alias.asname or alias.name.partition(".")[0]
                        yield _Bound(name, alias, statement, block)


def _imported_names(tree: ast.AST) -> set[str]:
    return {bound.name for bound in _imports(tree)}


def _has_star(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree))


def _is_exported(bound: _Bound, path: Path, others: Mapping[Path, str]) -> bool:
    """True if another module may import the name from this one."""
    if bound.alias.asname is not None and bound.alias.asname == bound.alias.name:
        return True
    stem = re.escape(path.stem)
    word = re.escape(bound.name)
    taken = re.compile(
        rf"\bfrom\s+[\w.]*\b{stem}\s+import\s+(\*|\([^)]*\b{word}\b|[^\n(]*\b{word}\b)|\b{stem}\.{word}\b"
    )
    return any(path.stem in text and taken.search(text) for text in others.values())


def _without(path: Path, parsed: Module, node: _Import, aliases: list[ast.alias], block: list[ast.stmt]) -> Edit | None:
    """Remove some names of the statement; None if a comment or another statement shares its lines."""
    start, end = parsed.start(node), parsed.end(node)
    text = parsed.text
    begin, stop = line_start(text, start), next_line(text, end)
    line = text[begin:stop]
    if text[begin:start].strip() or _NOQA.search(line):
        return None
    behind = text[end:stop].strip()
    kept = [alias for alias in node.names if alias not in aliases]
    if kept:
        return _fewer(path, parsed, node, kept)
    if behind or "#" in text[start:end] or len(block) == 1:
        return None
    return Edit(path, *_with_blank_lines(text, begin, stop), "")


def _fewer(path: Path, parsed: Module, node: _Import, kept: list[ast.alias]) -> Edit | None:
    """Return the edit that keeps these names: one per line if they were so, else joined on one line."""
    text, start, end = parsed.text, parsed.start(node), parsed.end(node)
    old = text[start:end]
    if "#" in old:
        return None
    if LINE_END.search(old) is None:
        opening, closing = ("(", ")") if old.endswith(")") else ("", "")
        head = old[: parsed.offset(node.names[0].lineno, node.names[0].col_offset) - start].rstrip("( ")
        names = ", ".join(_code(alias) for alias in kept)
        return Edit(path, start, end, f"{head} {opening}{names}{closing}")
    pieces = []
    lines = old.split("\n")
    gone = {_code(alias) for alias in node.names} - {_code(alias) for alias in kept}
    for piece in lines:
        if piece.strip().rstrip(",").strip() in gone:
            continue
        pieces.append(piece)
    if len(lines) - len(pieces) == len(gone):  # each was on a line of its own
        return Edit(path, start, end, "\n".join(pieces))
    head, width = lines[0].partition("(")[0], house_style(text).width
    flat = f"{head}{', '.join(_code(alias) for alias in kept)}"
    if len(flat) <= width:
        return Edit(path, start, end, flat)
    indent = next((line[: len(line) - len(line.lstrip())] for line in lines[1:] if line.strip(" )")), "    ")
    return Edit(path, start, end, "\n".join([f"{head}(", *(f"{indent}{_code(alias)}," for alias in kept), ")"]))


def _code(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _with_blank_lines(text: str, begin: int, stop: int) -> tuple[int, int]:
    """Return the lines of a statement, with the blank ones on its shorter side if both sides have some."""
    first, last = begin, stop
    while first > 0 and not text[line_start(text, first - 1) : first].strip():
        first = line_start(text, first - 1)
    while last < len(text) and not text[last : next_line(text, last)].strip():
        last = next_line(text, last)
    if first == 0:
        return begin, last
    if first == begin or last == stop:
        return begin, stop
    return (first, stop) if begin - first <= last - stop else (begin, last)
