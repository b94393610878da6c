"""Loops that read the end of the list that they fill, as loops that carry it:

    hidden = [x]
    for layer in self.layers:
        hidden.append(layer(hidden[-1]))

What goes from layer to layer there is the last element. It gets a name in front of the loop, and again wherever the
loop adds to the list, so that at all times the name stands for the very element.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scanify.analysis.flow.growth import LISTS_OF_PARTS, Growth, How, growths
from scanify.analysis.flow.names import flow
from scanify.analysis.flow.starts import last_of
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.loop import Form, Loop
from scanify.analysis.lower.nodes import children, names_in, nodes_in
from scanify.analysis.lower.scope import COMPREHENSIONS, FUNCTIONS, adopt, ancestors, parameters, parent_of
from scanify.analysis.lower.text import made, singular, unused

_AROUND = (ast.For, ast.AsyncFor, ast.While, *FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)
_ENDS = (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, *FUNCTIONS, ast.ClassDef, ast.Module)


@dataclass(frozen=True, eq=False)
class _Tail:
    """Where a loop reads the last element of a list, and the elements that it adds, each a new last one."""

    reads: tuple[ast.Subscript, ...]
    added: tuple[ast.expr, ...]


def carrying_ends(loop: Loop) -> Loop:
    """The loop with the last elements that it reads as carries; as it is where it reads none."""
    if loop.problem is not None or loop.form not in (Form.FOR, Form.WHILE) or not loop.module.writes("[-1]"):
        return loop
    used: set[str] | None = None
    for name in growths(loop.body):
        grown = growths(loop.body).get(name, ())  # of the body as it is by now
        tail = _tail(loop, name, grown)
        start = _start(loop, name) if tail is not None else None
        if tail is None or start is None:
            continue
        used = _used_names(loop) if used is None else used
        last = unused(f"last_{singular(name, '_').lstrip('_')}", used)
        used.add(last)
        changes = [Change(read, last) for read in tail.reads]
        changes += [Change(value, last, keeps=True) for value in tail.added]
        body, replaced = rebuilt(loop.module, loop.body, changes)
        line = made(ast.parse(f"{last} = {name}[-1]").body[0], start)
        for part in nodes_in(line):
            if isinstance(part, ast.expr | ast.stmt):
                made(part, start)
        adopt(loop.module, line, parent_of(loop.module, loop.node) or loop.module.tree)
        every = tuple(sorted((*loop.replaced, *replaced), key=lambda each: (each.start, each.end)))
        ahead = (*loop.ahead, ast.unparse(line))
        loop = replace(loop, body=body, replaced=every, ahead=ahead, ahead_body=(*loop.ahead_body, line))
    return loop


def _used_names(loop: Loop) -> set[str]:
    """The names in the outermost function around, and those that the lowering gave already."""
    around = [each for each in ancestors(loop.module, loop.node) if isinstance(each, FUNCTIONS)]
    outermost: ast.AST = around[-1] if around else loop.module.tree
    nodes = nodes_in(outermost, *loop.body)
    return names_in([outermost, *loop.body]) | {arg.arg for each in nodes for arg in parameters(each)}


def _tail(loop: Loop, name: str, grown: Sequence[Growth]) -> _Tail | None:
    """The tail, where the loop does nothing with the list but read its last element and add new ones.

    Each in this very loop: of another one inside, the last element would be that one's to carry.
    """
    added = [_added(each) for each in grown]
    reads = tuple(read for statement in loop.body for read in _last_elements(statement, name))
    known: set[ast.AST] = {place for each in grown for place in each.names} | {read.value for read in reads}
    places = [each for node in (*loop.body, *(walk.source for walk in loop.walks)) for each in nodes_in(node)]
    if not reads or any(isinstance(each, ast.Name) and each.id == name and each not in known for each in places):
        return None
    if any(_around(loop, each) is not loop.node for each in (*reads, *(growth.node for growth in grown))):
        return None
    values = tuple(each for each in added if each is not None and each not in reads)
    return _Tail(reads, values) if len(values) == len(grown) else None


def _added(growth: Growth) -> ast.expr | None:
    """The one element that is the last after the statement; None where that is not plain to see."""
    value: ast.expr | None = None
    match growth.how, growth.node:
        case How.METHOD, ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[added], keywords=[])):
            value = added
        case How.PLUS, ast.AugAssign(value=ast.List(elts=[*_, added]) | ast.Tuple(elts=[*_, added])):
            value = added
        case How.PLUS, ast.Assign(value=ast.BinOp(right=ast.List(elts=[*_, added]) | ast.Tuple(elts=[*_, added]))):
            value = added
        case How.LIST | How.TUPLE, ast.Assign(value=ast.List(elts=[*_, added]) | ast.Tuple(elts=[*_, added])):
            value = added
    unnamed = (ast.Starred, ast.NamedExpr, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await)
    return None if isinstance(value, unnamed) else value


def _last_elements(node: ast.AST, name: str) -> Iterator[ast.Subscript]:
    """The places in some code that read `name[-1]`; the list itself is then in none of them.

    What an operator changes in place is no element that is read.
    """
    if isinstance(node, ast.Subscript) and last_of(node) == name:
        yield node
        return
    for child in children(node):
        yield from _last_elements(child, name)


def _around(loop: Loop, node: ast.AST) -> ast.AST | None:
    """The innermost loop, function or comprehension that some code stands in."""
    return next((above for above in ancestors(loop.module, node) if isinstance(above, _AROUND)), None)


def _start(loop: Loop, name: str) -> ast.stmt | None:
    """The statement above a loop, in its function, that makes the list and puts an element into it."""
    below: ast.AST = loop.node
    filled: ast.stmt | None = None
    for above in ancestors(loop.module, loop.node):
        for field in ("body", "orelse"):
            block = getattr(above, field, None)
            if not isinstance(block, list) or not any(each is below for each in block):
                continue
            position = next(at for at, each in enumerate(block) if each is below)
            for statement in reversed(block[:position]):
                if _appends(statement, name):
                    filled = filled or statement
                elif (makes := _makes(loop, statement, name)) is not None:
                    return statement if makes else filled
                elif name in flow([statement]).bound:
                    return None
        if isinstance(above, _ENDS):
            return None
        below = above
    return None


def _makes(loop: Loop, statement: ast.stmt, name: str) -> bool | None:
    """Whether a statement makes the list with an element in it; None where it makes no list."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=given)], value=value)
            | ast.AnnAssign(target=ast.Name(id=given), value=value)
        ) if given == name and isinstance(value, ast.List | ast.Tuple):
            return bool(value.elts) and not isinstance(value.elts[-1], ast.Starred)
        case (
            ast.Assign(targets=[ast.Name(id=given)], value=ast.Call() as value)
            | ast.AnnAssign(target=ast.Name(id=given), value=ast.Call() as value)
        ) if given == name:
            copied = loop.scope.builtin(value) in ("list", "tuple") and len(value.args) == 1 and not value.keywords
            return True if _splits(loop, value.args[0] if copied else value) else None
        case _:
            return None


def _splits(loop: Loop, value: ast.expr) -> bool:
    """Whether a call gives a list of the parts of an array, of which there is at least one: `jnp.split(x, 2)`."""
    match value:
        case ast.Call(func=func, args=[_, ast.Constant(value=int(count)), *_]) if count > 0:
            return loop.scope.qualified(func) in LISTS_OF_PARTS
        case _:
            return False


def _appends(statement: ast.stmt, name: str) -> bool:
    grown = growths([statement]).get(name, ())
    return len(grown) == 1 and _added(grown[0]) is not None and not grown[0].repeated
