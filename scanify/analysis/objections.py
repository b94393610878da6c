"""What speaks against a loop, before any list is touched: its head, and what is walked beside the layers."""

from collections.abc import Iterator

import libcst as cst

from scanify.analysis.asked import asked, tests_in
from scanify.analysis.body import BodyFacts
from scanify.analysis.classify import Found, classify
from scanify.analysis.code import code_of
from scanify.analysis.container import is_dict, walked_list
from scanify.analysis.facts import Place
from scanify.analysis.header import NUMBERED, REVERSED, SLICE, VALUES, Header, Part
from scanify.analysis.mentions import mentions
from scanify.analysis.names import body_of, flow, target_names
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, assignments, builtin_called, value_given

_LAZY = frozenset("iter zip map filter enumerate reversed dict set frozenset str".split())

_MAX_NAMES = 8  # names that stand for names

Reason = tuple[str, str, Place | None]


def head_problem(project: Project, at: Where, head: Header, found: Found, loop: cst.For) -> Reason | None:
    place = at.place
    if at.enclosed:
        return "SCN201", "the class stands inside a function, whose names are not followed", None
    if head.problem is not None:
        return "SCN213", head.problem, place(loop.iter)
    if loop.asynchronous is not None:
        return "SCN213", "the loop is an `async for`", None
    if loop.orelse is not None:
        return "SCN213", "the loop has an `else`", place(loop.orelse)
    by_values = found.part.form == VALUES and found.layers.of_dict
    if (
        found.part.form is not None
        and not by_values
        and not found.part.form.startswith(("`list", "`tuple", "`reversed", SLICE, NUMBERED))
    ):
        return "SCN213", f"the layers are walked through {found.part.form}", place(found.part.whole)
    if reads_index(head, loop) and not _can_count(project, at, head):
        return "SCN208", f"the body uses the layer's index `{code_of(head.index or loop.target)}`", place(loop.iter)
    if head.first is not None and not _is_number(head.first):
        return "SCN208", f"`enumerate` begins to count at `{code_of(head.first)}`", place(head.first)
    if found.layers.walked_once:
        what = f"`{dotted(found.part.source)}` may be an iterator"
        counts = reads_index(head, loop) or head.numbers is not None or head.first is not None
        if counts or found.part.form is not None:
            return "SCN213", f"{what}, which has no length", place(loop.iter)
        if len(head.parts) > 1 and _read_again(at, loop, found.part.source):
            return "SCN213", f"{what}, of which nothing may be left", place(loop.iter)
    names = target_names(loop.target)
    twice = next((name for name in target_names(found.part.target) if names.count(name) > 1), None)
    if twice is not None:
        return "SCN213", f"`{twice}` is bound twice by the loop", place(loop.target)
    for part in head.parts:
        if not _plain(part.target):
            return "SCN207", f"`{code_of(part.target)}` is assigned in every turn of the loop", place(part.target)
        if part is found.part:
            continue
        reason = _walked_problem(project, at, part) or _own_each(project, at, part)
        if reason is not None:
            return (*reason, place(part.whole if at.module.parsed.parent(part.whole) else loop.iter))
    return None


def _read_again(at: Where, loop: cst.For, source: cst.BaseExpression) -> bool:
    """Whether a loop may find an iterator walked already: there is another use of it, or a loop around."""
    name = dotted(source) or ""
    loops = (one for one in at.module.parsed.ancestors(source) if isinstance(one, cst.For | cst.While))
    around = any(one is not loop for one in loops)
    return around or sum(1 for _ in mentions(at.function or at.module.parsed.module, name)) > 2


def reads_index(head: Header, loop: cst.For) -> bool:
    """Whether the body reads what `enumerate` counts."""
    if head.index is None:
        return False
    return bool(set(flow([cst.Expr(head.index)]).exposed) & set(flow(body_of(loop.body)).exposed))


def _is_number(node: cst.BaseExpression) -> bool:
    """Whether an expression gives a number however often it is asked: literals, names, lengths, and sums of those."""
    match node:
        case cst.Integer():
            return True
        case cst.UnaryOperation(expression=inner):
            return _is_number(inner)
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Subtract() | cst.Multiply(), right=right):
            return _is_number(left) and _is_number(right)
        case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(star="", keyword=None, value=inner)]):
            return dotted(inner) is not None
        case _:
            return dotted(node) is not None


def _can_count(project: Project, at: Where, head: Header) -> bool:
    """Whether `range(len(layers))` can be written here and counts what `enumerate` counts."""
    shadowed = any(
        name in at.locals or project.resolve(at.module, name) is not None for name in ("range", "len", "list")
    )
    return isinstance(head.index, cst.Name) and not shadowed


def _walked_problem(project: Project, at: Where, part: Part) -> tuple[str, str] | None:
    name = builtin_called(project, at, part.whole)
    if name == "range":
        return "SCN208", "the body uses the layer's index"
    if name in ("zip", "enumerate", "map", "filter", "iter"):
        return "SCN213", f"`{name}` is walked beside the layers"
    if part.form == VALUES and dotted(part.source) is not None and walked_list(project, at, part).of_dict:
        return None
    if part.form is None and is_dict(project, at, part.source):
        return "SCN213", f"the dict `{code_of(part.source)}` is walked beside the layers"
    if part.form is not None and part.form not in (SLICE, "`list(...)`", "`tuple(...)`", NUMBERED, REVERSED):
        return "SCN213", f"a value is walked beside the layers through {part.form}"
    walked = part.whole
    if part.form == REVERSED:
        if "list" in at.locals or project.resolve(at.module, "list") is not None:
            return (
                "SCN213",
                "a value is walked beside the layers through `reversed(...)`, and `list` has another meaning",
            )
        walked = part.source
    for value in _values(at, walked):
        lazy = builtin_called(project, at, value) in _LAZY
        if (
            lazy
            or (part.form != REVERSED and _of_dict(value))  # what is walked backwards is made a list
            or isinstance(value, cst.Dict | cst.DictComp | cst.Set | cst.SetComp | cst.GeneratorExp)
        ):
            return "SCN213", "what is walked beside the layers is not an array or a list"
        if isinstance(value, cst.BaseString):
            return "SCN213", "a string is walked beside the layers"
    return None


def _of_dict(node: cst.BaseExpression) -> bool:
    """`blocks.values()`, which has a length and no elements by number."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="values" | "items" | "keys")), args=[]):
            return True
        case _:
            return False


def _own_each(project: Project, at: Where, part: Part) -> tuple[str, str] | None:
    """Whether a second list is one of layers of which no two are alike: then no two turns are."""
    found = classify(project, part, walked_list(project, at, part)) if dotted(part.source) is not None else None
    reason = found.reason if found is not None and found.kind is not None else None
    return reason[:2] if reason is not None and reason[0] == "SCN203" else None


def walks_other_layers(project: Project, at: Where, head: Header, found: Found) -> bool:
    """Whether a second list of modules is walked beside the layers: they may differ as the layers may."""
    others = [part for part in head.parts if part is not found.part and dotted(part.source) is not None]
    classified = [classify(project, part, walked_list(project, at, part)) for part in others]
    return any(one is not None and one.kind is not None for one in classified)


def branches_beside(head: Header, found: Found, loop: cst.For) -> bool:
    """Whether the body branches on what is walked beside the layers: then it holds Python values, no arrays."""
    names = {name for part in head.parts if part is not found.part for name in target_names(part.target)}
    return bool(names) and any(names.intersection(asked(test)) for test in tests_in(loop.body))


def _values(at: Where, node: cst.BaseExpression, depth: int = 0) -> Iterator[cst.BaseExpression]:
    """An expression, or each that it may stand for: what a name is assigned in the function, both sides of a choice."""
    match node:
        case cst.IfExp(body=first, orelse=second) | cst.BooleanOperation(left=first, right=second):
            yield from _values(at, first, depth)
            yield from _values(at, second, depth)
            return
        case cst.NamedExpr(value=inner):
            yield from _values(at, inner, depth)
            return
        case _:
            yield node
    name = dotted(node)
    for statement in assignments(at.body(), name) if name is not None and depth < _MAX_NAMES else ():
        value = value_given(statement, name or "")
        if value is not None:
            yield from _values(at, value, depth + 1)


def _plain(target: cst.BaseExpression) -> bool:
    """Whether a target binds names and does nothing else."""
    if isinstance(target, cst.Tuple | cst.List):
        return all(_plain(element.value) for element in target.elements)
    return isinstance(target, cst.Name)


def first_problem(facts: BodyFacts, found: Found) -> Reason | None:
    if not facts.carry and all(one.rule == "SCN209" for one in facts.problems):
        return "SCN210", "no value goes from one layer to the next", None
    if facts.problems:
        first = facts.problems[0]
        return first.rule, first.reason, None
    return found.reason
