"""Loops that take layers by number, `for i in range(n): x = self.layers[i](x)`, read as loops over these layers.

The tree of a file is changed so that such a loop walks what it takes, as `zip` does: everything that asks about loops
then knows this form too. What a number stands for stays what it is in Python: the list is walked by the very numbers,
`[self.layers[i] for i in range(n)]`, unless they are those of the list itself, so that a list which is too short is
the error that it was, and one which is longer is not walked to its end. An element that is taken only under a
condition is left where it is: a list may be too short for a turn that does not read it.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

import libcst as cst

from scanify.analysis.code import code_of
from scanify.analysis.dotted import dotted
from scanify.analysis.hand_counted import counted_by_hand
from scanify.analysis.names import body_of, flow, parameter_names
from scanify.analysis.numbers import Numbers, Walk, numbers_of
from scanify.analysis.taken import Loop, Taken, function_around, loops_of, used_names, what_is_taken
from scanify.source.parse import Parsed
from scanify.source.reread import Change


def by_number(parsed: Parsed) -> list[Change]:
    """The changes that make loops by number in a file loops over what they take."""
    text = parsed.source.text
    if not ("[" in text or "1" in text) or _rebinds(flow(parsed.module.body).bound):
        return []
    changes: list[Change] = []
    named: dict[cst.CSTNode, set[str]] = {}  # the names that loops bind to what they take
    for loop in loops_of(parsed.module):
        changes += _changed(parsed, loop, named)
    changed = {above for change in changes for above in (change.node, *parsed.ancestors(change.node))}
    for loop in loops_of(parsed.module) if "1" in text else ():
        if isinstance(loop, cst.For) and loop not in changed and not _rebinds_around(parsed, loop):
            changes += counted_by_hand(parsed, loop)
    return changes


def _rebinds(bound: Container[str]) -> bool:
    """Whether a scope has a `range` or `zip` of its own."""
    return any(name in bound for name in ("range", "zip", "len", "enumerate", "reversed", "min", "list", "sorted"))


def _rebinds_around(parsed: Parsed, loop: Loop) -> bool:
    for above in parsed.ancestors(loop):
        if isinstance(above, cst.FunctionDef | cst.Lambda) and _rebinds(parameter_names(above.params)):
            return True
        if isinstance(above, cst.FunctionDef) and _rebinds(flow(body_of(above.body)).bound):
            return True
    return False


def _changed(parsed: Parsed, loop: Loop, named: dict[cst.CSTNode, set[str]]) -> list[Change]:
    if isinstance(loop, cst.For):
        walk = numbers_of(loop.target, loop.iter)
        body: Sequence[cst.CSTNode] = body_of(loop.body)
        if loop.orelse is not None or loop.asynchronous is not None:
            return []
    else:
        walk = numbers_of(loop.for_in.target, loop.for_in.iter)
        body = [cst.Expr(loop.elt)]
        if loop.for_in.inner_for_in is not None or loop.for_in.ifs or loop.for_in.asynchronous is not None:
            return []
    if walk is None or _rebinds_around(parsed, loop):
        return []
    bound = set(flow(body).bound)
    if walk.index in bound:
        return []
    around = [named.get(above, set()) for above in parsed.ancestors(loop)]
    used = used_names(function_around(parsed, loop), loop).union(*around)
    taken = what_is_taken(parsed, loop, walk, body, used)
    if not taken:
        return []
    if any(walk.numbers.keys(dotted(one.container) or "") for one in taken):
        walk = replace(walk, numbers=replace(walk.numbers, node=_call("list", walk.numbers.node)))
    named[loop] = {one.name for one in taken}
    return [*_replaced(taken), _head(loop, walk, taken)]


def _replaced(taken: Sequence[Taken]) -> Iterator[Change]:
    for one in taken:
        gone = {binding.value for binding in one.bindings}
        for place in one.places.reads:
            if place not in gone:
                yield Change(place, cst.Name(one.name, lpar=place.lpar, rpar=place.rpar))
        for binding in one.bindings:
            yield Change(binding.line, None)


def _head(loop: Loop, walk: Walk, taken: Sequence[Taken]) -> Change:
    """`for i, layer in zip(range(n), [self.layers[i] for i in range(n)])`, and beside them what was walked before."""
    columns: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [
        (cst.Name(walk.index), walk.numbers.expression()),
        *((target.deep_clone(), source.deep_clone()) for target, source in walk.beside),
    ]
    columns += [(cst.Name(one.name), _walked(one, walk.numbers, walk.index)) for one in taken]
    target = cst.Tuple([cst.Element(one) for one, _ in columns])
    source = cst.Call(cst.Name("zip"), [cst.Arg(one) for _, one in columns])
    if isinstance(loop, cst.For):
        return Change(loop, {"target": target, "iter": source})
    return Change(loop.for_in, {"target": target, "iter": source})


def _walked(one: Taken, numbers: Numbers, index: str) -> cst.BaseExpression:
    container = one.container.deep_clone()
    assert isinstance(container, cst.BaseExpression)
    if not one.own_place and code_of(one.number) == index and numbers.counts(dotted(one.container) or ""):
        return container
    if not one.own_place and code_of(one.number) == index and numbers.keys(dotted(one.container) or ""):
        return cst.Call(cst.Attribute(container, cst.Name("values")))
    number = one.number.deep_clone()
    assert isinstance(number, cst.BaseExpression)
    element = cst.Subscript(container, [cst.SubscriptElement(cst.Index(number))])
    return cst.ListComp(element, cst.CompFor(cst.Name(index), numbers.expression()))


def _call(name: str, value: cst.BaseExpression) -> cst.BaseExpression:
    given = value.deep_clone()
    assert isinstance(given, cst.BaseExpression)
    return cst.Call(cst.Name(name), [cst.Arg(given)])
