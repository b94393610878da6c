"""The head of a loop: what it walks, in which form, and what each target is bound to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from scanify.analysis.code import code_of
from scanify.analysis.numbers import arithmetic, label, numbers_of
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, builtin_called

NUMBERED = "its elements by number"
SLICE = "a slice"
REVERSED = "`reversed(...)`"
VALUES = "`.values()`"
_WALKERS = ("reversed", "list", "tuple", "iter")


@dataclass(frozen=True, eq=False)
class Part:
    """One target and the expression whose elements it is bound to.

    `whole` is that expression as written, `source` what it walks in the end and `form` the way, where that is not
    plain: `reversed(layers[1:])` has the source `layers`. `counted` has a length, that of what is walked: `layers[1:]`.
    `of_values` says that what is walked are the values of a dict, which is the source; `cut` that it stands in a `zip`
    that ends with the shortest.
    """

    target: cst.BaseExpression
    source: cst.BaseExpression
    whole: cst.BaseExpression
    counted: cst.BaseExpression
    form: str | None = None
    of_values: bool = False
    cut: bool = False


def plain_walk(part: Part) -> bool:
    """Whether what a target is bound to are elements of its source, in some order."""
    return part.form is None or part.form.startswith(("`list", "`tuple", "`reversed", SLICE, VALUES))


@dataclass(frozen=True, eq=False)
class Header:
    """All that a `for` walks side by side, and the target of an `enumerate` or `range` if there is one.

    `first` is where an `enumerate` begins to count, where it says so; `numbers` what a `range` beside the layers says,
    or the names of layers that are walked as `blocks.items()`.
    """

    parts: tuple[Part, ...]
    index: cst.BaseExpression | None = None
    problem: str | None = None
    indexed: tuple[cst.BaseExpression, ...] = field(default=())
    first: cst.BaseExpression | None = None
    numbers: cst.BaseExpression | None = None


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
            parts = inner.parts
            if inner.index is not None and inner.numbers is not None:  # names or numbers walked beside the layers
                parts = (*parts, _part(project, at, inner.index, inner.numbers))
            elif inner.index is not None:
                return Header((), problem="the loop counts its turns in two ways")
            return Header(parts, target.elements[0].value, inner.problem, first=_first(walked))
        return Header((), problem="the target of `enumerate` is not a pair")
    if isinstance(walked, cst.Call) and name == "range":
        return Header((), target, indexed=tuple(_measured(walked)))
    if (named := _named(project, at, target, walked)) is not None:
        (index, names), (value, values) = named
        part = _part(project, at, value, values)
        if not isinstance(index, cst.Name):  # `for (kind, i), layer in blocks.items()`
            return Header((part, _part(project, at, index, names)))
        return Header((part,), index, numbers=names)
    part = _part(project, at, target, walked)
    return Header((part,))


_Pair = tuple[cst.BaseExpression, cst.BaseExpression]


def _named(
    project: Project, at: Where, target: cst.BaseExpression, walked: cst.BaseExpression
) -> tuple[_Pair, _Pair] | None:
    """`for name, layer in blocks.items()` as `for name, layer in zip(list(blocks), blocks.values())`."""
    while isinstance(walked, cst.Call) and builtin_called(project, at, walked) in ("list", "tuple") and walked.args:
        walked = walked.args[0].value
    match walked:
        case cst.Call(func=cst.Attribute(value=source, attr=cst.Name(value="items")), args=[]):
            pass
        case _:
            return None
    if not isinstance(target, cst.Tuple | cst.List) or len(target.elements) != 2 or dotted(source) is None:
        return None
    if any(isinstance(one, cst.StarredElement) for one in target.elements):
        return None
    name, value = (one.value for one in target.elements)
    names = cst.Call(cst.Name("list"), [cst.Arg(source)])
    if builtin_called(project, at, names) != "list":
        return None
    return (name, names), (value, cst.Call(cst.Attribute(source, cst.Name("values"))))


def _names_of(source: cst.BaseExpression, named: Sequence[str]) -> cst.BaseExpression | None:
    """`list(blocks)` for `blocks` and `blocks.keys()`, whose values are walked beside them."""
    inner = source.func.value if isinstance(source, cst.Call) and _is_keys(source) else source  # type: ignore[attr-defined]
    return cst.Call(cst.Name("list"), [cst.Arg(inner)]) if f"list({code_of(inner)})" in named else None


def _is_keys(node: cst.Call) -> bool:
    return not node.args and isinstance(node.func, cst.Attribute) and node.func.attr.value == "keys"


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
    pairs: list[_Pair] = []
    for element, source in zip(target.elements, sources, strict=True):
        pairs += _named(project, at, element.value, source) or [(element.value, source)]
    sources = [source for _, source in pairs]
    taken = [code_of(one.for_in.iter) for one in sources if isinstance(one, cst.ListComp) and _by_number(one)]
    named = [f"list({code_of(one)[: -len('.values()')]})" for one in sources if _is_values(one)]
    pairs = [(one, _names_of(source, named) or source) for one, source in pairs]
    counted = [(one, source) for one, source in pairs if _counts(project, at, source) or code_of(source) in taken]
    counted = counted or [(one, source) for one, source in pairs if code_of(source) in named]
    cut = not any(arg.keyword is not None for arg in call.args)  # `strict=...`
    if len(counted) == 1 and isinstance(counted[0][0], cst.Name) and len(sources) > 1:
        index, numbers = counted[0]
        parts = [replace(_part(project, at, one, source), cut=cut) for one, source in pairs if one is not index]
        return Header(tuple(parts), index, numbers=numbers)
    return Header(tuple(replace(_part(project, at, one, source), cut=cut) for one, source in pairs))


def _counts(project: Project, at: Where, source: cst.BaseExpression) -> bool:
    """`range(n)`, `reversed(range(n))`: the loop's index, as far as it goes."""
    name = builtin_called(project, at, source)
    if name == "reversed" and isinstance(source, cst.Call) and len(source.args) == 1:
        return builtin_called(project, at, source.args[0].value) == "range"
    return name == "range"


def _by_number(walked: cst.ListComp) -> bool:
    """`[self.layers[i] for i in range(n)]`: expressions that may be evaluated again."""
    element, level = walked.elt, walked.for_in
    if not isinstance(element, cst.Subscript):
        return False
    plain = level.inner_for_in is None and not level.ifs and level.asynchronous is None and len(element.slice) == 1
    inner = element.slice[0].slice
    walk = numbers_of(level.target, level.iter)
    return (
        plain and walk is not None and isinstance(inner, cst.Index) and (arithmetic(inner.value) or label(inner.value))
    )


def _part(project: Project, at: Where, target: cst.BaseExpression, whole: cst.BaseExpression) -> Part:
    name = builtin_called(project, at, whole)
    match whole:
        case cst.Call(args=[cst.Arg(star="", keyword=None) as argument]) if name in _WALKERS:
            return _through(project, at, Part(target, argument.value, whole, argument.value, f"`{name}(...)`"))
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=("values" | "items" | "keys") as name))) if not whole.args:
            assert isinstance(whole.func, cst.Attribute)
            return Part(target, whole.func.value, whole, whole.func.value, f"`.{name}()`", name == "values")
        case cst.ListComp(elt=cst.Subscript(value=taken), for_in=cst.CompFor(target=cst.Name())) if _by_number(whole):
            return Part(target, taken, whole, whole, NUMBERED)
        case cst.Subscript():
            return _through(project, at, Part(target, whole.value, whole, whole, SLICE))
        case _:
            return Part(target, whole, whole, whole)


def _through(project: Project, at: Where, part: Part) -> Part:
    """A walk of what is itself a part of a list, a list backwards, or the values of a dict: `reversed(layers[1:])`,
    `layers[1:][::-1]`, `list(blocks.values())`."""
    inner = part.source
    cut = isinstance(inner, cst.Subscript) and len(inner.slice) == 1 and isinstance(inner.slice[0].slice, cst.Slice)
    if not cut and not _is_values(inner) and builtin_called(project, at, inner) not in ("reversed", "list", "tuple"):
        return part
    below = _part(project, at, part.target, inner)
    if below.form is None or not plain_walk(below):
        return part
    copies = part.form in ("`list(...)`", "`tuple(...)`")
    counted = part.counted if part.form == SLICE else below.counted
    form = below.form if copies else part.form
    return Part(part.target, below.source, part.whole, counted, form, below.of_values)


def _is_values(node: cst.BaseExpression) -> bool:
    """`blocks.values()`."""
    match node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="values")), args=[]):
            return True
        case _:
            return False
