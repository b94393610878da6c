"""The numbers that a loop counts through: of `range`, `reversed(range(n))`, `enumerate`, the keys of a dict."""

import ast
from dataclasses import dataclass, replace

from scanify.analysis.lower.head import Head, HeadReader
from scanify.analysis.lower.loop import Walk
from scanify.analysis.lower.text import container_text, dotted, made, only_argument, pure


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers (or names) that an expression gives each time that it is evaluated, in order.

    `index` is the name that a loop gives them. `of` is the list whose own numbers they are, 0 to its length, where they
    are that; `keys_of` the name of what is walked, which may be the dict whose keys they are. `beside` are the other
    walks of the head.
    """

    index: ast.Name
    text: str
    node: ast.expr
    of: str | None = None
    keys_of: str | None = None
    beside: tuple[Walk, ...] = ()


def numbers_of(reader: HeadReader, head: Head) -> Numbers | None:
    """What the head of a loop counts through; None where it does not count, or what it walks is evaluated only once.

    `for i in range(n)`, `for i, k in enumerate(keys)`, `for i, k in zip(range(n), keys)`, `for name in self.blocks`.
    """
    if head.index is None:
        if len(head.walks) != 1 or not isinstance(head.walks[0].target, ast.Name):
            return None
        target, source = head.walks[0].target, head.walks[0].source
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr == "keys":
            source = source.func.value if not source.args else source
        if (name := dotted(source)) is not None:
            return Numbers(target, reader.text(source), source, keys_of=name)
        return _counted(reader, target, head.walks[0].source)
    if not isinstance(head.index.target, ast.Name):
        return None
    if head.index.numbers is not None:
        counted = _counted(reader, head.index.target, head.index.numbers)
        return replace(counted, beside=head.walks) if counted is not None else None
    measured = next((each for walk in head.walks if (each := _measured(reader, walk.source)) is not None), None)
    if measured is None or not pure(head.index.first):
        return None
    count = f"len({reader.text(measured)})"
    if head.index.first is None:
        text, of = f"range({count})", container_text(measured)
    else:
        first = ast.unparse(head.index.first)
        text, of = f"range({first}, {first} + {count})", None
    node = made(ast.parse(text, mode="eval").body, head.index.target)
    return Numbers(head.index.target, text, node, of, beside=head.walks)


def _counted(reader: HeadReader, index: ast.expr, node: ast.expr) -> Numbers | None:
    if not isinstance(index, ast.Name) or not _are_numbers(reader, node):
        return None
    of = None
    match node:
        case ast.Call(func=func, args=[ast.Constant(value=0), last]) if reader.builtin(node) == "range":
            node = made(ast.Call(func, [last], []), node)
    match node:
        case ast.Call(args=[ast.Call() as length]):
            inner = only_argument(length) if reader.builtin(length) == "len" else None
            of = container_text(inner) if inner is not None and reader.builtin(node) == "range" else None
    return Numbers(index, reader.text(node), node, of)


def _are_numbers(reader: HeadReader, node: ast.expr) -> bool:
    match node:
        case ast.Call(keywords=[]) if reader.builtin(node) == "range":
            return bool(node.args) and all(map(pure, node.args)) and reader.calls_builtins(node)
        case ast.Call() if reader.builtin(node) == "reversed":
            inner = only_argument(node)
            return inner is not None and _are_numbers(reader, inner)
        case ast.Subscript(value=ast.Call() as inner, slice=ast.Slice() as part):
            return _are_numbers(reader, inner) and all(map(pure, (part.lower, part.upper, part.step)))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            literal = all(isinstance(each, ast.Constant) and isinstance(each.value, int | str) for each in elements)
            return bool(elements) and literal
        case _:
            return False


def _measured(reader: HeadReader, node: ast.expr) -> ast.expr | None:
    """The list of which a source has as many elements, where asking for its length again is the same."""
    if isinstance(node, ast.Call) and reader.builtin(node) in ("reversed", "list", "tuple"):
        inner = only_argument(node)
        return _measured(reader, inner) if inner is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        part = node.slice
        known = dotted(node.value) is not None and all(map(pure, (part.lower, part.upper, part.step)))
        return node if known else None
    return node if dotted(node) is not None else None
