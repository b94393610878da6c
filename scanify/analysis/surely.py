"""Which expressions of a body are surely evaluated in every turn of its loop that ends without an exception."""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.children import children, nodes_in
from scanify.analysis.names import body_of


def surely(body: Sequence[cst.CSTNode]) -> frozenset[cst.CSTNode]:
    """The nodes that no condition, no `continue` and no early end of the loop keeps from being evaluated.

    A lambda that is given to a call is taken to be called: `jax.vmap(lambda y: self.layers[i](y))(x)`.
    """
    return frozenset(_block(body))


def _block(body: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    for statement in body:
        yield from _statement(statement)
        if _may_end(statement):
            return


def _statement(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match node:
        case cst.SimpleStatementLine():
            for small in node.body:
                yield from _statement(small)
        case cst.If():
            yield from _expression(node.test)
            if node.orelse is not None:
                yield from _both(node)
        case cst.Else():
            yield from _block(body_of(node.body))
        case cst.For():
            yield from _expression(node.iter)
        case cst.While():
            yield from _expression(node.test)
        case cst.With():
            for item in node.items:
                yield from _expression(item.item)
            yield from _block(body_of(node.body))
        case cst.Assert() | cst.FunctionDef() | cst.ClassDef() | cst.Try() | cst.TryStar() | cst.Match():
            return
        case _:
            yield from _expression(node)


def reads_first(body: Sequence[cst.CSTNode], reads: frozenset[cst.CSTNode], stores: frozenset[cst.CSTNode]) -> bool:
    """Whether nothing is read after the first store, and nothing is stored in a loop within the body."""
    stored = False
    for statement in _simple(body):
        if statement is None:
            return False
        holds = set(nodes_in(statement))
        if stored and holds & reads:
            return False
        stored = stored or bool(holds & stores)
        targets = [one for target in stores if target in holds for one in nodes_in(target)]
        if reads.intersection(targets):
            return False
    return not any(set(nodes_in(loop)) & stores for loop in _inner_loops(body))


def _simple(body: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode | None]:
    """The statements without blocks of their own, and the heads of those that have; None for functions in the body."""
    for statement in body:
        match statement:
            case cst.SimpleStatementLine():
                yield from statement.body
            case cst.If() | cst.While():
                yield statement.test
                yield from _blocks(statement)
            case cst.For():
                yield statement.iter
                yield from _blocks(statement)
            case cst.With():
                yield from statement.items
                yield from _simple(body_of(statement.body))
            case cst.Else():
                yield from _simple(body_of(statement.body))
            case cst.BaseCompoundStatement():
                yield None
            case _:
                yield statement


def _blocks(statement: cst.If | cst.While | cst.For) -> Iterator[cst.CSTNode | None]:
    yield from _simple(body_of(statement.body))
    if statement.orelse is not None:
        yield from _simple([statement.orelse])


def _inner_loops(nodes: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    for node in nodes:
        if isinstance(node, cst.For | cst.While):
            yield node
        yield from _inner_loops(children(node))


def ends_loop(body: Sequence[cst.CSTNode]) -> bool:
    """Whether a turn may be the last one before all numbers are counted through: by `break` or `return`."""
    return any(_ends_loop(statement) for statement in body)


def _ends_loop(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Break):
        return True
    if isinstance(node, cst.For | cst.While):
        return _returns(node)
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
        return False
    return isinstance(node, cst.Return) or any(_ends_loop(child) for child in children(node))


def _both(node: cst.If) -> Iterator[cst.CSTNode]:
    """What each branch evaluates, though at another place: an element that both take is surely taken."""
    assert node.orelse is not None
    one, other = list(_block(body_of(node.body))), list(_statement(node.orelse))
    for mine, theirs in ((one, other), (other, one)):
        for each in mine:
            if isinstance(each, cst.Subscript) and any(each.deep_equals(another) for another in theirs):
                yield each


def _expression(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    match node:
        case cst.IfExp():
            yield from _expression(node.test)
        case cst.BooleanOperation():
            yield from _expression(node.left)
        case cst.Comparison():
            yield from _expression(node.left)
            yield from _expression(node.comparisons[0])
        case cst.Lambda():
            return
        case cst.ListComp() | cst.SetComp() | cst.GeneratorExp() | cst.DictComp():
            yield from _expression(node.for_in.iter)
        case cst.Arg(value=cst.Lambda() as given):
            yield from _expression(given.body)
        case _:
            for child in children(node):
                yield from _expression(child)


def _may_end(node: cst.CSTNode) -> bool:
    """Whether a statement may end the turn: `continue`, `break` or `return` outside of loops and functions in it."""
    if isinstance(node, cst.Continue | cst.Break | cst.Return):
        return True
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
        return False
    if isinstance(node, cst.For | cst.While):
        return any(_returns(child) for child in children(node))
    return any(_may_end(child) for child in children(node))


def _returns(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Return):
        return True
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
        return False
    return any(_returns(child) for child in children(node))
