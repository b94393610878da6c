"""Annotations of a list that becomes a stack: `list[Block]`, alone or inside another annotation."""

import ast
from collections.abc import Callable, Iterator

from scanify.analysis.stack import Wrap
from scanify.emit.loops.enclosing import Module, enclosing_function, module

_SEQUENCES = frozenset("list List tuple Tuple Sequence MutableSequence Collection Iterable".split())
_NO_MODULES = _SEQUENCES | frozenset("dict Dict set Callable object type Type Mapping".split())


def stacked(old: str, stack_of: Callable[[str | None], str], element: str | None) -> str:
    """Replace the list in an annotation by `stack_of(element)`, and keep the rest.

    A stack is generic over modules: a stack of tuples or functions is `stack_of(None)`.
    """
    quote = old[:1] if old[:1] in ("'", '"') and old[:1] == old[-1:] else ""
    plain = old[1:-1] if quote else old
    if element is not None and _last_name(element.strip("'\"")) in _NO_MODULES:
        element = None
    new = stack_of(element)
    found = _list_in(plain)
    start, end = found if found is not None else (0, len(plain))
    return f"{quote}{plain[:start]}{new}{plain[end:]}{quote}"


def element_of(old: str) -> str | None:
    """Return the element type of an annotated list: `Block` of `Optional[list[Block]]` and `tuple[Block, ...]`."""
    plain = old.strip("'\"")
    found = _list_in(plain)
    parsed = module(f"({plain[found[0] : found[1]]})") if found is not None else None
    if parsed is None:
        return None
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Subscript):
            inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            return parsed.code(inner)
    return None


def beside(site: Wrap, text: str) -> Iterator[tuple[int, int]]:
    """Yield the annotations of the name assigned the list, and of the function that returns nothing but the list."""
    parsed = module(text)
    span = site.place.span
    around = parsed.around(span.start, span.end) if parsed is not None else []
    if parsed is None or not around:
        return
    statements = [node for node in around if isinstance(node, ast.stmt)]
    last = statements[-1] if statements else None
    if isinstance(last, ast.AnnAssign) and last.value is not None and _is_at(parsed, last.value, span.start, span.end):
        yield from _list_like(parsed, last.annotation)
    if isinstance(last, ast.Return) and last.value is not None and _is_at(parsed, last.value, span.start, span.end):
        function = enclosing_function(around)
        returns = [node for node in ast.walk(function or ast.Pass()) if isinstance(node, ast.Return | ast.Yield)]
        if function is not None and function.returns is not None and len(returns) == 1:
            yield from _list_like(parsed, function.returns)


def _list_like(parsed: Module, node: ast.expr) -> Iterator[tuple[int, int]]:
    if _list_in(parsed.code(node).strip("'\"")) is not None:
        yield parsed.start(node), parsed.end(node)


def _is_at(parsed: Module, node: ast.expr, start: int, end: int) -> bool:
    """True if a node is the expression at a stretch, up to parentheses."""
    return parsed.text[start:end].strip("() \n") == parsed.code(node).strip("() \n")


def _list_in(plain: str) -> tuple[int, int] | None:
    """Return the stretch of the list, tuple or sequence type in an annotation."""
    parsed = module(f"({plain})")
    if parsed is None:
        return None
    left: list[ast.AST] = [parsed.tree]
    while left:
        node = left.pop(0)
        if isinstance(node, ast.Subscript | ast.Name | ast.Attribute):
            head = node.value if isinstance(node, ast.Subscript) else node
            if _last_name(parsed.code(head)) in _SEQUENCES:
                return parsed.start(node) - 1, parsed.end(node) - 1
        left += ast.iter_child_nodes(node)
    return None


def _last_name(text: str) -> str:
    return text.partition("[")[0].rpartition(".")[2].strip()
