"""Loops that read the end of the list that they fill, read as loops that carry it:

    hidden = [x]
    for layer in self.layers:
        hidden.append(layer(hidden[-1]))

What goes from layer to layer there is the last element. It gets a name in front of the loop, and again wherever the
loop adds to the list, so that at all times the name stands for the very element.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.children import all_of, children
from scanify.analysis.dotted import dotted
from scanify.analysis.growth import Growth, How, growths
from scanify.analysis.mentions import mentions
from scanify.analysis.names import body_of, flow
from scanify.analysis.taken import fresh, function_around, loops_of, one_of
from scanify.source.parse import Parsed
from scanify.source.reread import Ahead, Change, Named

_SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp)
_LOOPS = (cst.For, cst.While)


@dataclass(frozen=True, eq=False)
class Tail:
    """A list whose last element a loop reads: where it does so, and the elements that it adds, each a new last one."""

    reads: tuple[cst.Subscript, ...]
    added: tuple[cst.BaseExpression, ...]


def tails(parsed: Parsed, known: Sequence[Change]) -> tuple[list[Change], list[Ahead]]:
    """What makes loops of a file carry the last elements of their lists, in their bodies and in front of them.

    `known` are changes for other reasons: what they change is left to them, and the names in them are taken.
    """
    changes: list[Change] = []
    ahead: list[Ahead] = []
    taken = {name.value for change in known for name in _names_in(change.becomes)}
    nodes = {change.node for change in known}
    given: dict[tuple[cst.CSTNode, str], str] = {}
    for loop in loops_of(parsed.module) if "[-1]" in parsed.source.text else ():
        if not isinstance(loop, cst.For) or loop.orelse is not None or loop.asynchronous is not None:
            continue
        for name, grown in growths(body_of(loop.body)).items():
            tail = _tail(parsed, loop, name, grown)
            start = _start(parsed, loop, name) if tail is not None else None
            if tail is None or start is None or not nodes.isdisjoint((*tail.reads, *tail.added)):
                continue
            function = function_around(parsed, loop)
            if (function, name) not in given:
                wanted = f"last_{one_of(name, '_').lstrip('_')}"
                here = {one for (around, _), one in given.items() if around is function}
                given[function, name] = fresh(wanted, _used(function) | taken | here)
            last = given[function, name]
            changes += [Change(read, cst.Name(last)) for read in tail.reads]
            changes += [Change(value, Named(last)) for value in tail.added]
            ahead.append(Ahead(loop, _line(f"{last} = {name}[-1]"), start))
    return changes, ahead


def _names_in(node: object) -> Iterator[cst.Name]:
    for one in node.values() if isinstance(node, Mapping) else [node]:
        if isinstance(one, cst.CSTNode):
            yield from all_of(cst.Name, one)


def _used(function: cst.CSTNode) -> set[str]:
    return {one.value for one in all_of(cst.Name, function)}


def _line(code: str) -> cst.SimpleStatementLine:
    line = cst.parse_statement(code)
    assert isinstance(line, cst.SimpleStatementLine)
    return line


def _tail(parsed: Parsed, loop: cst.For, name: str, grown: Sequence[Growth]) -> Tail | None:
    """The tail, where the loop does nothing with the list but read its last element and add new ones.

    Each in this very loop: of another one inside, the last element would be that one's to carry.
    """
    added = [_added(one) for one in grown]
    reads = tuple(_last_elements(loop.body, name))
    known = {one for each in grown for one in each.names} | {one for read in reads for one in mentions(read, name)}
    here = [*reads, *(one.node for one in grown)]
    if not reads or any(one not in known for one in mentions(loop, name)):
        return None
    if any(_around(parsed, one) is not loop for one in here):
        return None
    values = tuple(one for one in added if one is not None and one not in reads)
    return Tail(reads, values) if len(values) == len(grown) else None


def _added(growth: Growth) -> cst.BaseExpression | None:
    """The one element that is the last after the statement; None where that is not plain to see."""
    match growth.how, growth.node:
        case How.METHOD, cst.Expr(
            value=cst.Call(
                func=cst.Attribute(attr=cst.Name(value="append")), args=[cst.Arg(value=value, keyword=None, star="")]
            )
        ):
            return _can_be_named(value)
        case How.PLUS, cst.AugAssign(value=cst.List(elements=[*_, cst.Element(value=value)])):
            return _can_be_named(value)
        case How.PLUS, cst.Assign(
            value=cst.BinaryOperation(right=cst.List(elements=[*_, cst.Element(value=value)]))
        ) | cst.Assign(value=cst.BinaryOperation(right=cst.Tuple(elements=[*_, cst.Element(value=value)]))):
            return _can_be_named(value)
        case (How.LIST, cst.Assign(value=cst.List(elements=[*_, cst.Element(value=value)]))) | (
            How.TUPLE,
            cst.Assign(value=cst.Tuple(elements=[*_, cst.Element(value=value)])),
        ):
            return _can_be_named(value)
        case _:
            return None


def _can_be_named(value: cst.BaseExpression) -> cst.BaseExpression | None:
    """An expression that may stand behind `:=` as it is."""
    if isinstance(value, cst.NamedExpr | cst.GeneratorExp | cst.Yield | cst.Await):
        return None
    return value


def _last_elements(node: cst.CSTNode, name: str) -> Iterator[cst.Subscript]:
    """The places in some code that read `name[-1]`; the list itself is then in none of them."""
    if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.Del):
        # What is stored into is no element that is read, and neither is one that an operator changes in place.
        value = getattr(node, "value", None)
        if value is not None:
            yield from _last_elements(value, name)
        return
    if isinstance(node, cst.Subscript) and last_of(node) == name:
        yield node
        return
    for child in children(node):
        yield from _last_elements(child, name)


def last_of(node: cst.CSTNode) -> str | None:
    """The name of the list of `hidden[-1]`; None for anything else."""
    match node:
        case cst.Subscript(
            value=cst.Name(value=listed),
            slice=[
                cst.SubscriptElement(
                    slice=cst.Index(
                        value=cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer(value="1")), star=None
                    )
                )
            ],
        ):
            return listed
        case _:
            return None


def _around(parsed: Parsed, node: cst.CSTNode) -> cst.CSTNode | None:
    """The innermost loop, function or comprehension that some code stands in."""
    return next((above for above in parsed.ancestors(node) if isinstance(above, _LOOPS + _SCOPES)), None)


def _start(parsed: Parsed, loop: cst.For, name: str) -> cst.CSTNode | None:
    """The statement above a loop, in its function, that makes the list and puts an element into it."""
    below: cst.CSTNode = loop
    filled: cst.CSTNode | None = None
    for above in parsed.ancestors(loop):
        if isinstance(above, cst.IndentedBlock):
            position = next(i for i, one in enumerate(above.body) if one is below)
            for line in reversed(above.body[:position]):
                statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
                if statement is not None and _appends(statement, name):
                    filled = filled or statement
                elif statement is not None and (made := _made(statement, name)) is not None:
                    return statement if made else filled
                elif name in flow([line]).bound:
                    return None
        elif isinstance(above, cst.For | cst.While | cst.Try | cst.TryStar | cst.ClassDef | cst.FunctionDef):
            return None
        below = above
    return None


def _made(statement: cst.CSTNode, name: str) -> bool | None:
    """Whether a statement makes the list with an element in it; None where it makes no list."""
    match statement:
        case (
            cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)
            | cst.AnnAssign(target=target, value=value)
        ) if dotted(target) == name and isinstance(value, cst.List | cst.Tuple):
            return bool(value.elements) and isinstance(value.elements[-1], cst.Element)
        case _:
            return None


def _appends(statement: cst.CSTNode, name: str) -> bool:
    grown = growths([statement]).get(name, ())
    return len(grown) == 1 and _added(grown[0]) is not None
