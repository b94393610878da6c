"""The names bound by the loops around a statement, which a function defined in them would read when it is called.

Linters warn of that (ruff's B023). So the function is defined in front of the loops, and takes these names as
arguments.
"""

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass

from scanify.emit.loops.enclosing import FUNCTIONS, Module, enclosing_function, enclosing_loops, module
from scanify.emit.text.newlines import indent_of, line_start, line_stop, previous_line

_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.FunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class LoopsAround:
    """The start of a statement in front of the outermost loop, its indentation, and the names that the loops bind.

    `sure` are the names that have a value wherever the statement runs.
    """

    front: int
    indent: str
    bound: frozenset[str]
    sure: frozenset[str]

    def given(self, names: Set[str]) -> list[str] | None:
        """Return the `names` that the loops bind, sorted; None if one of them may have no value."""
        wanted = sorted(names & self.bound)
        return wanted if self.sure.issuperset(wanted) else None


def loops_around(text: str, start: int, end: int) -> LoopsAround | None:
    """Return the loops around the loop or expression at a stretch of the text; None without any."""
    parsed = module(text)
    if parsed is None:
        return None
    around = parsed.around(start, end)
    holders = around if _is_loop(around, parsed, start) else [*around, ast.Pass()]
    loops = enclosing_loops(holders)
    inside = [node for node in around[:-1] if isinstance(node, _COMPREHENSIONS)]
    function = enclosing_function(holders)
    if not loops and not inside:
        return None
    bound = {name for node in (*loops, *inside) for name in stores(node)}
    sure = {name for node in inside for part in node.generators for name in stores(part.target)}
    sure |= set(_sure(function, around)) if function is not None else set(_before(parsed.tree.body, around))
    front = line_start(text, parsed.start(loops[0])) if loops else start
    indent = indent_of(text[front : line_stop(text, front)])
    if loops:
        front = _above_comments(text, front, indent)
    return LoopsAround(front, indent, frozenset(bound), frozenset(sure))


def _is_loop(around: list[ast.AST], parsed: Module, start: int) -> bool:
    """True if the stretch itself is a loop, which does not count as one around it."""
    last = around[-1] if around else None
    return isinstance(last, ast.For | ast.While) and parsed.start(last) >= start


def _above_comments(text: str, front: int, indent: str) -> int:
    while front > 0:
        above = previous_line(text, front)
        line = text[above:front]
        if not line.startswith(f"{indent}#"):
            break
        front = above
    return front


def stores(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its own scope."""
    left = [node]
    while left:
        each = left.pop()
        match each:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Lambda():
                continue
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)):
                yield name
        left += ast.iter_child_nodes(each)


def _sure(function: ast.FunctionDef | ast.AsyncFunctionDef, around: list[ast.AST]) -> Iterator[str]:
    args = function.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            yield arg.arg
    yield from _before(function.body, around)


def _before(block: list[ast.stmt], around: list[ast.AST]) -> Iterator[str]:
    """Yield the names that are bound in every run before the last of `around` runs."""
    for statement in block:
        if statement in around:
            if isinstance(statement, ast.For):
                yield from stores(statement.target)
            for item in statement.items if isinstance(statement, ast.With) else ():
                if item.optional_vars is not None:
                    yield from stores(item.optional_vars)
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(statement, field, [])
                if any(each in around for each in inner) and not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                    yield from _before(inner, around)
            return
        if isinstance(statement, _BINDING) and getattr(statement, "value", True) is not None:
            yield from stores(statement)
        elif isinstance(statement, ast.If) and statement.orelse:
            first, second = ({name for each in part for name in stores(each)} for part in _branches(statement))
            yield from first & second


def _branches(statement: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the statements that each branch runs unconditionally."""
    first = [each for each in statement.body if isinstance(each, ast.Assign | ast.AugAssign)]
    second = [each for each in statement.orelse if isinstance(each, ast.Assign | ast.AugAssign)]
    return list[ast.stmt](first), list[ast.stmt](second)
