"""The functions, loops and blocks that enclose a statement."""

import ast
import warnings
from dataclasses import dataclass
from functools import lru_cache

LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True)
class Module:
    """A module's tree, with the offset of the start of each line. Positions of the tree count bytes of UTF-8."""

    text: str
    tree: ast.Module
    starts: tuple[int, ...]

    def offset(self, line: int, column: int) -> int:
        start = self.starts[line - 1]
        if self.text.isascii():
            return start + column
        return start + len(self.text[start : start + column].encode()[:column].decode(errors="ignore"))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def code(self, node: ast.expr | ast.stmt) -> str:
        return self.text[self.start(node) : self.end(node)]

    def around(self, start: int, end: int) -> list[ast.AST]:
        """Return the nodes that contain a stretch of the text, outermost first."""
        found: list[ast.AST] = []
        left: list[ast.AST] = [self.tree]
        while left:
            node = left.pop()
            if isinstance(node, ast.expr | ast.stmt):
                if not (self.start(node) <= start and end <= self.end(node)):
                    continue
                found.append(node)
                left = []
            left += ast.iter_child_nodes(node)
        return found


@lru_cache(maxsize=16)
def module(text: str) -> Module | None:
    """Parse a text; None if the running Python does not know its syntax."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    starts, at = [0], 0
    while (at := _line_end(text, at)) < len(text):
        starts.append(at)
    return Module(text, tree, (*starts, len(text)))


def _line_end(text: str, at: int) -> int:
    """Return the offset behind the line end that follows `at`."""
    feeds = [found for found in (text.find("\n", at), text.find("\r", at)) if found >= 0]
    if not feeds:
        return len(text)
    first = min(feeds)
    return first + (2 if text.startswith("\r\n", first) else 1)


def enclosing_loops(around: list[ast.AST]) -> list[ast.For | ast.AsyncFor | ast.While]:
    """Return the loops around the last node, within the innermost function or class, outermost first."""
    begin = max((at + 1 for at, node in enumerate(around) if isinstance(node, _SCOPES)), default=0)
    return [node for node in around[begin:-1] if isinstance(node, LOOPS)]


def enclosing_function(around: list[ast.AST]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the function directly around the last node, if any."""
    scopes = [node for node in around[:-1] if isinstance(node, _SCOPES)]
    last = scopes[-1] if scopes else None
    return last if isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef) else None


def begins_function(text: str, start: int) -> bool:
    """True if the statement at an offset is the first of a function's or class's body."""
    parsed = module(text)
    around = parsed.around(start, start + 1) if parsed is not None else []
    statements = [node for node in around if isinstance(node, ast.stmt)]
    if parsed is None or len(statements) < 2 or parsed.start(statements[-1]) != start:
        return False
    holder = statements[-2]
    return isinstance(holder, (*_SCOPES[:2], ast.ClassDef)) and holder.body[0] is statements[-1]
