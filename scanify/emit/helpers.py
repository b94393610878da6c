"""Helper functions that a target writes into the files that call them: their places and names."""

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from scanify.emit.edits import Edit
from scanify.emit.loops.enclosing import Module, module
from scanify.emit.names.fresh_name import fresh
from scanify.emit.target import Helper
from scanify.emit.text.loop_text import step_of
from scanify.emit.text.newlines import line_start, newline_of, previous_line
from scanify.errors import CheckFailed

_STEP = re.compile(r"^(?: {4})+", re.MULTILINE)


def helper_names(text: str, helpers: Mapping[str, Helper], imports: Mapping[str, str]) -> dict[str, str]:
    """Name each helper in a file; it keeps its own name if the file already defines this very function."""
    names = {name: name for name in helpers}
    known = functions_of(text)
    taken = set(re.findall(r"\w+", text))
    for name in helpers:
        if name in taken and known.get(name) != _dumped(in_file(helpers[name], {**imports, **names}, text)):
            names[name] = fresh(f"{name}_2", taken)
    return names


def helper_edits(
    path: Path, text: str, made: Iterable[Edit], helpers: Mapping[str, Helper], names: Mapping[str, str]
) -> list[Edit]:
    """Insert the helpers that the edits of a file call, and those that these call, in front of the first use."""
    mine = [edit for edit in made if edit.path == path]
    wanted = _with_theirs([name for name in helpers if _calls(mine, names[name])], helpers)
    known = functions_of(text)
    new = [in_file(helpers[name], names, text) for name in helpers if name in wanted and names[name] not in known]
    if not new:
        return []
    at = _above(text, min(edit.start for edit in mine if any(_calls([edit], names[name]) for name in wanted)), path)
    newline = newline_of(text)
    return [Edit(path, at, at, "".join(f"{function}{newline * 3}" for function in new))]


def in_file(helper: Helper, names: Mapping[str, str], text: str) -> str:
    """Adapt a helper's text to a file: its names, indentation and line ends."""
    step = step_of(text, "\t" if re.search(r"^\t", text, re.MULTILINE) else "")
    newline = newline_of(text)
    words = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, names))})\b")
    renamed = words.sub(lambda found: names[found[1]], helper.text)
    return _STEP.sub(lambda found: step * (len(found[0]) // 4), renamed).strip().replace("\n", newline)


def functions_of(text: str) -> dict[str, str]:
    """Map the functions at the top level of a file to dumps of their trees, which ignore layout."""
    parsed = module(text)
    found = parsed.tree.body if parsed is not None else []
    return {node.name: ast.dump(node) for node in found if isinstance(node, ast.FunctionDef)}


def _dumped(function: str) -> str:
    return ast.dump(ast.parse(function).body[0])


def _calls(edits: Iterable[Edit], name: str) -> bool:
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\(", edit.new) for edit in edits)


def _with_theirs(wanted: list[str], helpers: Mapping[str, Helper]) -> set[str]:
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        found.add(name)
        wanted += [one for one in helpers if one not in found and re.search(rf"\b{one}\(", helpers[name].text)]
    return found


def _above(text: str, offset: int, path: Path) -> int:
    """Return the offset of the top-level statement that holds an offset, with its decorators and comments."""
    parsed = module(text)
    if parsed is None:
        raise CheckFailed(
            f"{path}: expected a file that this Python can parse, to write functions into, got one with other syntax; "
            "nothing was written; run scanify with the Python that the file is for"
        )
    starts = [start for start in (_start(parsed, each) for each in parsed.tree.body) if start <= offset]
    at = line_start(text, max(starts, default=0))
    while at > 0 and text[previous_line(text, at) : at].startswith("#"):
        at = previous_line(text, at)
    return at


def _start(parsed: Module, node: ast.stmt) -> int:
    return min([parsed.start(node), *(parsed.start(each) - 1 for each in getattr(node, "decorator_list", ()))])
