"""The numbers that a loop counts through: of `range`, `reversed(range(n))`, `enumerate`, the names of a dict."""

import ast
from dataclasses import dataclass, replace

from scanify.analysis.lower.head import Head, HeadReader
from scanify.analysis.lower.loop import Walk
from scanify.analysis.lower.text import container_text, dotted, made, only_argument, pure


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers (or names) that an expression gives each time that it is evaluated, in order.

    `index` is the name that a loop gives them. `of` is the list whose own numbers they are, 0 to its length, where they
    are that. `keys_of` is the dict whose keys are walked instead, if it is one; `in_order`: in its own order.
    """

    index: ast.Name
    text: str
    node: ast.expr
    of: str | None = None
    keys_of: str | None = None
    in_order: bool = False
    beside: tuple[Walk, ...] = ()

    def are_places(self, number: ast.expr) -> bool:
        """Whether no two iterations can speak of one place of a list, as -1 and 2 may: by `i`, `i + 1`, `i - start`."""
        match number:
            case ast.Name(id=name):
                return name == self.index.id and _are_places(self.node)
            case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int())):
                return dotted(left) == self.index.id and _are_places(self.node)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return dotted(left) == self.index.id and self._begins_with(right)
            case _:
                return False

    def _begins_with(self, start: ast.expr) -> bool:
        match self.node:
            case ast.Call(func=ast.Name(id="range"), args=[first, _]):
                return ast.unparse(first) == ast.unparse(start)
            case _:
                return False


def numbers_of(reader: HeadReader, head: Head) -> Numbers | None:
    """What the head of a loop counts through; None where it does not count, or what it walks is evaluated only once.

    `for i in range(n)`, `for i, k in enumerate(keys)`, `for i, k in zip(range(n), keys)`, `for name in order`.
    """
    if head.index is None:
        if len(head.walks) != 1 or not isinstance(head.walks[0].target, ast.Name):
            return None
        walk = head.walks[0]
        return _keys(reader, walk.target, walk.source) or _counted(reader, walk.target, walk.source)
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
    node = _of_the_whole(reader, node)
    if not isinstance(index, ast.Name) or not _are_numbers(reader, node):
        return None
    of = None
    if isinstance(node, ast.Call) and reader.builtin(node) == "range":
        ends = node.args
        if len(ends) == 2 and ast.unparse(ends[0]) == "0":
            node = made(ast.Call(node.func, ends[1:], []), node)
            ends = ends[1:]
        if len(ends) == 1 and reader.builtin(ends[0]) == "len" and isinstance(ends[0], ast.Call):
            inner = only_argument(ends[0])
            of = container_text(inner) if inner is not None else None
    return Numbers(index, reader.text(node), node, of)


def _of_the_whole(reader: HeadReader, node: ast.expr) -> ast.expr:
    """`range(len(xs[:-1]))` and `range(len(xs[1:]))` as `range(len(xs) - 1)`: below nothing both count nothing."""
    match node:
        case ast.Call(
            args=[ast.Call(args=[ast.Subscript(value=ast.expr() as whole, slice=ast.Slice() as part)]) as size]
        ):
            if reader.builtin(node) != "range" or reader.builtin(size) != "len" or node.keywords or size.keywords:
                return node
        case _:
            return node
    match part:
        case ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(left))), step=None):
            pass
        case ast.Slice(lower=ast.Constant(value=int(left)), upper=None, step=None):
            pass
        case _:
            return node
    if dotted(whole) is None or left < 1 or left is True:
        return node
    length = ast.BinOp(ast.Call(size.func, [whole], []), ast.Sub(), ast.Constant(left))
    return made(ast.Call(node.func, [length], []), node)


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


def _keys(reader: HeadReader, index: ast.expr, node: ast.expr) -> Numbers | None:
    """What walks the keys of a dict: `blocks`, `blocks.keys()`, `sorted(blocks)`, `list(blocks)`."""
    assert isinstance(index, ast.Name)
    match node:
        case ast.Name() | ast.Attribute():
            name = dotted(node)
            return Numbers(index, reader.text(node), node, None, name, True) if name is not None else None
        case ast.Call(func=ast.Attribute(value=owner, attr="keys"), args=[], keywords=[]):
            return _keys(reader, index, owner) if dotted(owner) is not None else None
        case ast.Call() if reader.builtin(node) in ("list", "tuple", "iter"):
            inner = only_argument(node)
            return _keys(reader, index, inner) if inner is not None else None
        case ast.Call(args=[inner], keywords=rest) if reader.builtin(node) == "sorted":
            ways = [each.arg for each in rest if isinstance(each.value, ast.Constant | ast.Name)]
            keys = _keys(reader, index, inner) if ways in ([], ["reverse"]) and len(ways) == len(rest) else None
            return Numbers(index, reader.text(node), node, None, keys.keys_of) if keys is not None else None
        case _:
            return None


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


def _are_places(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            return _are_places(inner)
        case ast.Call(func=ast.Name(id="range"), args=[_]):
            return True
        case ast.Call(func=ast.Name(id="range"), args=[first, _]):
            return isinstance(first, ast.Constant)
        case ast.Call(func=ast.Name(id="range"), args=[_, last, step]):
            return ast.unparse(last) == ast.unparse(step) == "-1"
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            values = {each.value for each in elements if isinstance(each, ast.Constant)}
            return len(values) == len(elements)
        case _:
            return False
