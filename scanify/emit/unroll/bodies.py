"""A function over one layer as the body of a loop: verbatim if the names of the loop are free."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.emit.loops.enclosing import FUNCTIONS, LOOPS, Module
from scanify.emit.names.free_names import own
from scanify.emit.text.newlines import line_start, next_line

_SCOPES = (*FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True)
class Body:
    """The statements of a function, as the body of a loop.

    `layer`, `carry` and `items` are the targets that the loop binds, `header` the text behind the function's colon,
    `lines` whole lines at the indentation of the function's body, `gives` the value that the last `return` gives next
    to the carry, and `bound` all names that the loop binds.
    """

    layer: str
    carry: str
    items: tuple[str, ...]
    header: str
    lines: str
    gives: str | None
    bound: frozenset[str]


def body_of(parsed: Module, function: ast.FunctionDef, items: int, *, collects: bool) -> Body | None:
    """Return the body of a function of a layer, a carry and items; None if it has to stay a function."""
    args = function.args
    names = [each.arg for each in args.args]
    if len(names) != items + 2 or args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults:
        return None
    if function.decorator_list or function.returns is not None or any(each.annotation for each in args.args):
        return None
    if len({function.body[0].lineno, function.lineno}) < 2:
        return None
    kept = list(function.body)
    targets, edits = _unpacked(parsed, kept, names)
    last = kept[-1] if kept else None
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    given = _given(last.value, collects=collects)
    if given is None:
        return None
    text = parsed.text
    if (
        text[parsed.end(last) : next_line(text, parsed.end(last))].strip()
        or text[line_start(text, parsed.start(last)) : parsed.start(last)].strip()
    ):
        return None
    carry = targets[1]
    early = _early(parsed, kept[:-1], carry)
    if early is None or (early and collects):
        return None
    edits += early
    start = next_line(text, _colon(parsed, function))
    same = ast.unparse(given[0]) == ast.unparse(ast.parse(carry, mode="eval").body)
    if same:
        edits.append((line_start(text, parsed.start(last)), next_line(text, parsed.end(last)), ""))
    else:
        edits.append((parsed.start(last), parsed.end(last), f"{carry} = {parsed.code(given[0])}"))
    if same and given[1] is None and len(kept) == 1:
        return None
    stop = next_line(text, parsed.end(last))
    lines = text[start:stop]
    for begin, end, new in sorted(edits, reverse=True):
        lines = lines[: begin - start] + new + lines[end - start :]
    bound = frozenset({*(own(function) - set(names)), *names, *_names(*targets)})
    header = text[_colon(parsed, function) : start]
    gives = None if given[1] is None else parsed.code(given[1])
    return Body(targets[0], carry, tuple(targets[2:]), header, lines, gives, bound - _renamed(names, targets))


def _renamed(names: list[str], targets: list[str]) -> frozenset[str]:
    """Return the unpacked parameters: the loop binds their parts instead."""
    return frozenset(name for name, target in zip(names, targets, strict=True) if name != target)


def _names(*targets: str) -> Iterator[str]:
    for target in targets:
        yield from (node.id for node in ast.walk(ast.parse(target)) if isinstance(node, ast.Name))


def _unpacked(parsed: Module, kept: list[ast.stmt], names: list[str]) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Return the targets for the parameters, patterns for those unpacked first, and edits that remove these lines."""
    targets, edits = list(names), []
    uses = [node.id for one in kept for node in ast.walk(one) if isinstance(node, ast.Name)]
    while kept:
        match kept[0]:
            case ast.Assign([ast.Tuple() as pattern], ast.Name(name)) if name in names and uses.count(name) == 1:
                position = names.index(name)
                code = parsed.code(pattern)
                alone = not code.startswith("(") and position != 1
                targets[position] = f"({code})" if alone else code
                text = parsed.text
                start, end = line_start(text, parsed.start(kept[0])), next_line(text, parsed.end(kept[0]))
                if text[start:end].strip() != parsed.code(kept[0]):
                    break
                edits.append((start, end, ""))
                kept.pop(0)
            case _:
                break
    return targets, edits


def _given(value: ast.expr, *, collects: bool) -> tuple[ast.expr, ast.expr | None] | None:
    """Return the carry that a function gives, and the value next to it."""
    if not collects:
        return value, None
    match value:
        case ast.Tuple([carry, beside]):
            return carry, beside
    return None


def _early(parsed: Module, block: list[ast.stmt], carry: str) -> list[tuple[int, int, str]] | None:
    """Return the edits that replace each early `return` by `continue`; None if a loop cannot have the statements."""
    edits = []
    wanted = ast.unparse(ast.parse(carry, mode="eval").body)
    left: list[tuple[ast.AST, bool]] = [(each, False) for each in block]
    while left:
        node, inside = left.pop()
        if isinstance(node, ast.Nonlocal | ast.Global | ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor):
            return None
        if isinstance(node, ast.Return):
            if inside or node.value is None or ast.unparse(node.value) != wanted:
                return None
            edits.append((parsed.start(node), parsed.end(node), "continue"))
        if isinstance(node, _SCOPES):
            continue
        left += [(each, inside or isinstance(node, LOOPS)) for each in ast.iter_child_nodes(node)]
    return edits


def _colon(parsed: Module, function: ast.FunctionDef) -> int:
    """Return the offset behind the colon of a function's header."""
    text, arguments = parsed.text, function.args.args
    last = arguments[-1]
    assert last.end_lineno is not None and last.end_col_offset is not None
    behind = parsed.offset(last.end_lineno, last.end_col_offset)
    return text.index(":", text.index(")", behind)) + 1


def leaks(function: ast.AST, outside: ast.AST, region: tuple[int, int], parsed: Module, *, looped: bool) -> set[str]:
    """Return the names used around `function` for which a loop in its place would write another value.

    Names used only in front of the region are free, unless the region is in a loop and runs again.
    """
    found: set[str] = set()
    left: list[ast.AST] = list(ast.iter_child_nodes(outside))
    while left:
        node = left.pop()
        if node is function:
            continue
        if isinstance(node, FUNCTIONS):
            found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - own(node)
            continue
        if isinstance(node, ast.Name) and (looped or parsed.start(node) >= region[0]):
            found.add(node.id)
        if isinstance(node, ast.Nonlocal | ast.Global):
            found |= set(node.names)
        left += ast.iter_child_nodes(node)
    return found
