"""The head of a loop: what it walks, in which form, and what each target is bound to."""

from dataclasses import dataclass, field

import libcst as cst

from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, builtin_called

_WALKERS = ("reversed", "list", "tuple", "iter")


@dataclass(frozen=True, eq=False)
class Part:
    """One target and the expression whose elements it is bound to.

    `whole` is that expression as written, `source` what it walks in the end and `form` the way, where that is not
    plain: `reversed(layers)` has the source `layers`.
    """

    target: cst.BaseExpression
    source: cst.BaseExpression
    whole: cst.BaseExpression
    form: str | None = None


@dataclass(frozen=True, eq=False)
class Header:
    """All that a `for` walks side by side, and the target of an `enumerate` or `range` if there is one.

    `first` is where an `enumerate` begins to count, where it says so.
    """

    parts: tuple[Part, ...]
    index: cst.BaseExpression | None = None
    problem: str | None = None
    indexed: tuple[cst.BaseExpression, ...] = field(default=())
    first: cst.BaseExpression | None = None


def header(project: Project, at: Where, loop: cst.For) -> Header:
    """Read the head of a loop. What is not understood is said in `problem`."""
    return _read(project, at, loop.target, loop.iter)


def _read(project: Project, at: Where, target: cst.BaseExpression, walked: cst.BaseExpression) -> Header:
    name = builtin_called(project, at, walked)
    if isinstance(walked, cst.Call) and name == "zip":
        return _zip(project, at, target, walked)
    if isinstance(walked, cst.Call) and name == "enumerate" and walked.args:
        if isinstance(target, cst.Tuple | cst.List) and len(target.elements) == 2:
            inner = _read(project, at, target.elements[1].value, walked.args[0].value)
            return Header(inner.parts, target.elements[0].value, inner.problem, first=_first(walked))
        return Header((), problem="the target of `enumerate` is not a pair")
    if isinstance(walked, cst.Call) and name == "range":
        return Header((), target, indexed=tuple(_measured(walked)))
    part = _part(project, at, target, walked)
    return Header((part,))


def _first(call: cst.Call) -> cst.BaseExpression | None:
    """The second argument of `enumerate`."""
    return next((arg.value for arg in call.args[1:] if arg.keyword is None or arg.keyword.value == "start"), None)


def _measured(call: cst.Call) -> list[cst.BaseExpression]:
    """The expressions whose `len` a `range` counts to."""
    found: list[cst.BaseExpression] = []
    for arg in call.args:
        value = arg.value
        if isinstance(value, cst.Call) and dotted(value.func) == "len" and value.args:
            found.append(value.args[0].value)
    return found


def _zip(project: Project, at: Where, target: cst.BaseExpression, call: cst.Call) -> Header:
    sources = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if any(arg.star for arg in call.args):
        return Header((), problem="`zip` is given a starred argument")
    if not isinstance(target, cst.Tuple | cst.List) or len(target.elements) != len(sources):
        return Header((), problem="the targets do not match what `zip` walks")
    if any(isinstance(element, cst.StarredElement) for element in target.elements):
        return Header((), problem="a target of `zip` is starred")
    pairs = zip(target.elements, sources, strict=True)
    parts = [_part(project, at, element.value, source) for element, source in pairs]
    return Header(tuple(parts))


def _part(project: Project, at: Where, target: cst.BaseExpression, whole: cst.BaseExpression) -> Part:
    name = builtin_called(project, at, whole)
    match whole:
        case cst.Call(args=[cst.Arg(star="", keyword=None) as argument]) if name in _WALKERS:
            return Part(target, argument.value, whole, f"`{name}(...)`")
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=("values" | "items" | "keys") as name))) if not whole.args:
            assert isinstance(whole.func, cst.Attribute)
            return Part(target, whole.func.value, whole, f"`.{name}()`")
        case cst.Subscript():
            return Part(target, whole.value, whole, "a slice")
        case _:
            return Part(target, whole, whole)
