"""Local names for a list of layers, for its reverse or a part of it, or for one of several lists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.dotted import dotted
from scanify.analysis.where import Where, assignments

_MUTATORS = frozenset("append extend insert pop remove clear sort reverse".split())


@dataclass(frozen=True, eq=False)
class View:
    """What one assignment gives a name: a list that has a name elsewhere, whole or not. `walked_once`: an iterator;
    `of_values`: what has the name is a dict, and the list is that of its values."""

    source: cst.Attribute | cst.Name
    whole: bool = True
    walked_once: bool = False
    of_values: bool = False


def views_of(at: Where, name: str) -> tuple[View, ...]:
    """The lists that a local name stands for, where each of its assignments says so; none where one does not.

    `layers = reversed(self.layers) if inverse else self.layers`, `blocks = self.blocks[:n]`, `a, *rest = self.layers`.
    """
    if at.function is None or at.parameter(name) is not None:
        return ()
    found: list[View] = []
    for statement in assignments(at.body(), name):
        given = None
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            given = _given(statement.targets[0].target, statement.value, name)
        views = list(given) if given is not None else []
        if not views or any(one is None or dotted(one.source) == name for one in views):
            return ()
        found += [one for one in views if one is not None]
    return () if _changed(at.body(), name) else tuple(found)


def _given(target: cst.BaseExpression, value: cst.BaseExpression, name: str) -> Iterator[View | None] | None:
    """What an assignment gives a name: `layers = ...`, `hidden, last = ..., ...`, `first, *rest = ...`."""
    if dotted(target) == name:
        return _views(value)
    if not isinstance(target, cst.Tuple | cst.List):
        return None
    starred = any(isinstance(one, cst.StarredElement) and dotted(one.value) == name for one in target.elements)
    if isinstance(value, cst.Tuple | cst.List):
        both = [*target.elements, *value.elements]
        if any(isinstance(one, cst.StarredElement) for one in both) or len(target.elements) != len(value.elements):
            return None
        pairs = zip(target.elements, value.elements, strict=True)
        return next((_views(given.value) for one, given in pairs if dotted(one.value) == name), None)
    return (_part(one, once=False) for one in _views(value)) if starred else None


def _views(value: cst.BaseExpression) -> Iterator[View | None]:
    match value:
        case cst.IfExp(body=body, orelse=orelse):
            yield from _views(body)
            yield from _views(orelse)
        case cst.Attribute() | cst.Name():
            yield View(value) if dotted(value) not in (None, "None") else None
        case cst.Call(func=cst.Attribute(value=cst.Attribute() | cst.Name() as source, attr=method), args=[]):
            shown = method.value == "values" and dotted(source) is not None
            yield View(source, whole=False, of_values=True) if shown else None
        case cst.Call(func=cst.Name(value="reversed" | "iter"), args=[cst.Arg(star="", keyword=None, value=inner)]):
            yield from (_part(one, once=True) for one in _views(inner))
        case cst.Call(func=cst.Name(value="list" | "tuple"), args=[cst.Arg(star="", keyword=None, value=inner)]):
            yield from (_part(one, once=False) for one in _views(inner))
        case cst.Subscript(value=inner, slice=[cst.SubscriptElement(slice=cst.Slice())]):
            yield from (_part(one, once=False) for one in _views(inner))
        case _:
            yield None


def _part(view: View | None, once: bool) -> View | None:
    return replace(view, whole=False, walked_once=once) if view is not None else None


def _changed(statements: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether a list gets other elements under a name."""
    for statement in blocks(statements):
        match statement:
            case cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Name(value=changed), attr=method))):
                if changed == name and method.value in _MUTATORS:
                    return True
            case cst.Assign(targets=targets):
                if any(_stores(one.target, name) for one in targets):
                    return True
            case cst.AugAssign(target=target) | cst.Del(target=target):
                if _stores(target, name) or dotted(target) == name:
                    return True
            case _:
                pass
    return False


def _stores(target: cst.BaseExpression, name: str) -> bool:
    if isinstance(target, cst.Tuple | cst.List):
        return any(_stores(one.value, name) for one in target.elements)
    return isinstance(target, cst.Subscript) and dotted(target.value) == name
