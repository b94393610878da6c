"""The loops of a source file by the lines that they run: `for` and `while` statements, comprehensions, and lambdas that
`map` and `reduce` call."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scanify.verify.profile.locations import Frame

_LONGEST = 60
_CALLING = ("map", "reduce")


@dataclass(frozen=True)
class Loop:
    """A loop by its line and head, for readers, and the stretch of code that it runs.

    `walks` is the place of its iterable, None for a `while`: there Python traces how the next element is taken. `turn`
    is where an iteration begins, `scope` the dotted name of the class or function around it, `text` its full head, and
    `calls` is true for a lambda that `map` or `reduce` calls, which has a frame for each element. `applies` is true if
    its body calls its element, a part of it, or an item selected by its number. `lists` are the dotted names that may
    be its layers: its iterables, and those that its target selects from.
    """

    line: int
    head: str
    walks: tuple[int, int] | None
    start: tuple[int, int]
    end: tuple[int, int]
    turn: tuple[int, int] = (0, 0)
    scope: str = ""
    text: str = ""
    calls: bool = False
    applies: bool = True
    lists: tuple[str, ...] = ()

    def runs(self, frame: Frame) -> bool:
        return self.start <= (frame.line, frame.column) < self.end


class SourceLoops:
    """The loops of one file. A file that cannot be parsed has none."""

    def __init__(self, text: str) -> None:
        self._loops = sorted(loops_of(text), key=lambda loop: (loop.start, -loop.end[0], -loop.end[1]))
        self._starts = [loop.start for loop in self._loops]

    def around(self, frame: Frame, again: bool = False) -> list[Loop]:
        """Return the loops that run the place of a frame, outermost first.

        With `again`, the place was traced several times: the iterable of a loop then stands for its elements.
        """
        place = frame.line, frame.column
        near = self._loops[: bisect_right(self._starts, place)] if not again else self._loops
        return [loop for loop in near if loop.runs(frame) or (again and loop.walks == place)]


def loops_of(text: str) -> list[Loop]:
    """Return the loops of a file, in source order; none for a file that cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    return list(_loops(tree, ""))


def _loops(node: ast.AST, scope: str) -> Iterator[Loop]:
    found = _loop(node, scope)
    if found is not None:
        yield found
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}" if scope else node.name
    for child in ast.iter_child_nodes(node):
        yield from _loops(child, scope)


def _loop(node: ast.AST, scope: str) -> Loop | None:
    match node:
        case ast.For(target=target, iter=walked, body=body) | ast.AsyncFor(target=target, iter=walked, body=body):
            head = f"for {_bare(target)} in {ast.unparse(walked)}"
            more = _about(walked, target, body)
            return _of(node, head, body[0], body[-1], walked, target, scope=scope, **more)
        case ast.While(test=test, body=body):
            return _of(node, f"while {ast.unparse(test)}", body[0], body[-1], scope=scope)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            level = node.generators[0]
            head = f"... for {_bare(level.target)} in {ast.unparse(level.iter)}"
            made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            more = _about(level.iter, level.target, made)
            return _of(node, head, made[0], made[-1], level.iter, scope=scope, **more)
        case ast.Call(func=function, args=[ast.Lambda(body=made), walked, *_]) if (
            getattr(function, "attr", getattr(function, "id", "")) in _CALLING
        ):
            head = f"{ast.unparse(function)}(lambda ..., {ast.unparse(walked)})"
            return _of(node, head, made, made, walked, scope=scope, calls=True)
    return None


def _of(
    node: ast.stmt | ast.expr,
    head: str,
    first: ast.stmt | ast.expr,
    last: ast.stmt | ast.expr,
    walked: ast.expr | None = None,
    target: ast.expr | None = None,
    **more: Any,
) -> Loop:
    text = " ".join(head.split())
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    end = last.end_lineno or last.lineno, last.end_col_offset or last.col_offset
    begins = target or first
    turn = begins.lineno, begins.col_offset
    walks = None if walked is None else (walked.lineno, walked.col_offset)
    return Loop(node.lineno, short, walks, (first.lineno, first.col_offset), end, turn, text=text, **more)


def _applies(target: ast.expr, body: Sequence[ast.AST]) -> bool:
    names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    calls = (node for part in body for node in ast.walk(part) if isinstance(node, ast.Call))
    called = (node.func for node in calls if node.args or node.keywords)
    return any(isinstance(each, ast.Name) and each.id in names for func in called for each in ast.walk(func))


def _about(walked: ast.expr, target: ast.expr, body: Sequence[ast.AST]) -> dict[str, Any]:
    return {"applies": _applies(target, body), "lists": _lists(walked, target, body)}


def _lists(walked: ast.expr, target: ast.expr, body: Sequence[ast.AST]) -> tuple[str, ...]:
    numbers = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    selected = (
        node.value
        for part in body
        for node in ast.walk(part)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id in numbers
    )
    found = (name for part in (walked, *selected) for name in _dotted(part))
    return tuple(dict.fromkeys(found))


def _dotted(node: ast.expr) -> Iterator[str]:
    """Yield the longest dotted names in an expression, except called ones."""
    for inner in ast.walk(node):
        inside = isinstance(inner, ast.Name | ast.Attribute)
        text = ast.unparse(inner) if inside else ""
        if inside and all(part.isidentifier() for part in text.split(".")):
            yield text


def _bare(target: ast.expr) -> str:
    """Write a target as in source: several names without brackets."""
    text = ast.unparse(target)
    return text[1:-1] if isinstance(target, ast.Tuple) and text.startswith("(") else text
