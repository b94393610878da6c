"""A field that is filled as a list and then stacked: the list becomes a local, and the field is set once."""

import ast
from collections.abc import Iterator

from scanify.analysis.stack import After
from scanify.emit.loops.enclosing import Module, enclosing_function, module
from scanify.emit.names.fresh_name import fresh


def local_list(site: After, text: str) -> tuple[str, list[tuple[int, int]]] | None:
    """Return the local's name, and the mentions of the field in the lines that fill it.

    None if the field does not begin as a new list, or if other code may see it before it is full.
    """
    parsed = module(text)
    owner, _, attribute = site.target.rpartition(".")
    if parsed is None or not owner.isidentifier():
        return None
    span = site.place.span
    stripped = text[span.start : span.end].rstrip()
    start = span.start + len(stripped) - len(stripped.lstrip())
    around = parsed.around(start, span.start + len(stripped))
    function = enclosing_function([*around, ast.Pass()])
    if function is None:
        return None
    mentions = sorted(_mentions(parsed, function, owner, attribute, span.end))
    block = next((part for part in _blocks(function) if any(parsed.start(each) == start for each in part)), [])
    at = next((i for i, each in enumerate(block) if parsed.start(each) == start), -1)
    first = next((i for i, each in enumerate(block[:at]) if _sets(parsed, each, mentions[:1])), None)
    if first is None or not mentions:
        return None
    between = block[first : at + 1]
    if any(_shows_itself(statement, owner, attribute) for statement in between):
        return None
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return fresh(attribute.lstrip("_") or "layers", names), mentions


def _mentions(parsed: Module, function: ast.AST, owner: str, attribute: str, end: int) -> Iterator[tuple[int, int]]:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ast.Name(id=name), attr) if name == owner and attr == attribute:
                if parsed.end(node) <= end:
                    yield parsed.start(node), parsed.end(node)


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


def _sets(parsed: Module, statement: ast.stmt, mention: list[tuple[int, int]]) -> bool:
    """True if a statement only assigns to the field, at its first mention."""
    match statement:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target, value=ast.expr()):
            return [(parsed.start(target), parsed.end(target))] == mention
    return False


def _shows_itself(statement: ast.stmt, owner: str, attribute: str) -> bool:
    """True if a statement passes the object on, or calls a method of it that may read the field."""
    known = set()
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name(id=name), attr)) if name == owner and attr != attribute:
                return True
            case ast.Call(func=ast.Name(id="super")):
                return True
            case ast.Attribute(ast.Name(id=name) as holder) if name == owner:
                known.add(holder)
    return any(isinstance(node, ast.Name) and node.id == owner and node not in known for node in ast.walk(statement))
