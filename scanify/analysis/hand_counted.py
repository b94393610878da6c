"""Loops that count their turns by hand, read as `enumerate`:

    i = 0
    for layer in self.layers:
        x = layer(x, caches[i])
        i += 1

Such a number is no value that goes from layer to layer: it is the same plain number in every run, as Python code that
branches on it or takes an element of a list with it needs.
"""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.children import all_of, children
from scanify.analysis.dotted import dotted
from scanify.analysis.names import body_of, flow, target_names
from scanify.source.parse import Parsed
from scanify.source.reread import Change

_SCOPES = (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.GeneratorExp)


def counted_by_hand(parsed: Parsed, loop: cst.For) -> list[Change]:
    """The changes that make a loop with a counter of its own one over `enumerate`; none where it has none."""
    body: Sequence[cst.CSTNode] = body_of(loop.body)
    if loop.orelse is not None or loop.asynchronous is not None or len(body) < 2:
        return []
    name = _counted(body[-1])
    start = _start(parsed, loop, name) if name is not None else None
    if name is None or start is None or not _counts_turns(body[:-1], loop, name) or _seen(parsed, loop, name):
        return []
    target, walked = loop.target.deep_clone(), loop.iter.deep_clone()
    assert isinstance(target, cst.BaseExpression) and isinstance(walked, cst.BaseExpression)
    if isinstance(target, cst.Tuple):
        target = target.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    first = [cst.Arg(cst.Integer(start))] if start != "0" else []
    both = cst.Tuple([cst.Element(cst.Name(name)), cst.Element(target)], lpar=[], rpar=[])
    source = cst.Call(cst.Name("enumerate"), [cst.Arg(walked), *first])
    return [Change(loop, {"target": both, "iter": source}), Change(body[-1], None)]


def _counted(line: cst.CSTNode) -> str | None:
    """The name in a line `i += 1` or `i = i + 1`."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    match line.body[0]:
        case cst.AugAssign(target=cst.Name(value=name), operator=cst.AddAssign(), value=cst.Integer(value="1")):
            return name
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=name))],
            value=cst.BinaryOperation(left=left, operator=cst.Add(), right=cst.Integer(value="1")),
        ):
            return name if dotted(left) == name else None
        case _:
            return None


def _start(parsed: Parsed, loop: cst.For, name: str) -> str | None:
    """The number that a name is given above a loop, in the very block that the loop stands in."""
    block = parsed.parent(loop)
    lines = block.body if isinstance(block, cst.IndentedBlock) else ()
    above = list(lines)[: list(lines).index(loop)] if loop in lines else []
    for line in reversed(above):
        statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        match statement:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=given))], value=cst.Integer(value=number)
            ) if given == name:
                return number
        if name in flow([line]).bound:
            return None
    return None


def _counts_turns(body: Sequence[cst.CSTNode], loop: cst.For, name: str) -> bool:
    """Whether every turn comes to the counter, and nothing else in the loop sets it."""
    again = any(True for _ in all_of(cst.Continue, *body))
    return not again and name not in flow(body).bound and name not in target_names(loop.target)


def _seen(parsed: Parsed, loop: cst.For, name: str) -> bool:
    """Whether anything else than the loop may read its counter: what is below it, or a function made around it."""
    below: cst.CSTNode = loop
    after: list[cst.CSTNode] = []
    for above in parsed.ancestors(loop):
        if isinstance(above, cst.FunctionDef):
            named = any(True for _ in all_of(cst.Global | cst.Nonlocal, above.body))  # type: ignore[arg-type]
            return named or name in flow(after).exposed or any(_inside(above.body, name))
        if isinstance(above, cst.Try | cst.TryStar | cst.ClassDef):
            return True
        if isinstance(above, cst.For | cst.While):
            after = [*after, *body_of(above.body)]
        if isinstance(above, cst.IndentedBlock):
            position = next(i for i, one in enumerate(above.body) if one is below)
            after = [*after, *above.body[position + 1 :]]
        below = above
    return True


def _inside(node: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    """The places of a name in the functions, lambdas and generators within a node."""
    for child in children(node):
        if isinstance(child, _SCOPES):
            yield from (one for one in all_of(cst.Name, child) if one.value == name)
        else:
            yield from _inside(child, name)
