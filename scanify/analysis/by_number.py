"""Loops that take layers by number, `for i in range(n): x = self.layers[i](x)`, read as loops over these layers.

The tree of a file is changed so that such a loop walks what it takes, as `zip` does: everything that asks about loops
then knows this form too. What a number stands for stays what it is in Python: the list is walked by the very numbers,
`[self.layers[i] for i in range(n)]`, unless they are those of the list itself, so that a list which is too short is
the error that it was, and one which is longer is not walked to its end. An element that is taken only under a
condition is left where it is: a list may be too short for a turn that does not read it.
"""

import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from scanify.analysis.code import code_of
from scanify.analysis.dotted import dotted
from scanify.analysis.names import body_of, flow, reads, target_names
from scanify.analysis.numbers import Numbers, Walk, arithmetic, numbers_of
from scanify.analysis.surely import ends_loop, surely
from scanify.source.parse import Parsed
from scanify.source.reread import Change, reread

Loop = cst.For | cst.ListComp | cst.GeneratorExp

_SCOPES = (cst.Lambda, cst.FunctionDef, cst.ClassDef, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)

_LAYERS = ("layer", "block")
_BINDERS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)


@dataclass(frozen=True, eq=False)
class _Binding:
    """`layer = self.layers[i]` on a line of its own."""

    line: cst.SimpleStatementLine
    name: str
    value: cst.BaseExpression


@dataclass(frozen=True, eq=False)
class _Taken:
    """One thing that a loop takes by number: `self.layers[i]`, wherever it stands in the body.

    `name` is what stands for it then, `bindings` are the statements `layer = self.layers[i]` that go.
    """

    container: cst.BaseExpression
    number: cst.BaseExpression
    places: tuple[cst.Subscript, ...]
    name: str
    bindings: tuple[_Binding, ...] = ()


@dataclass
class _Places:
    """Where a body reads one element, and where it does something else with it."""

    reads: list[cst.Subscript] = field(default_factory=list)
    stored: bool = False


def by_number(parsed: Parsed) -> Parsed:
    """The file with its loops by number read as loops over what they take; the file itself where there are none."""
    if "[" not in parsed.source.text or _rebinds(parsed.module):
        return parsed
    changes: list[Change] = []
    named: dict[cst.CSTNode, set[str]] = {}  # the names that loops bind to what they take
    for loop in _loops(parsed.module):
        changes += _changed(parsed, loop, named)
    return reread(parsed, changes) if changes else parsed


def _rebinds(module: cst.Module) -> bool:
    """Whether the file has a `range` or `zip` of its own."""
    bound = flow(module.body).bound
    return any(name in bound for name in ("range", "zip", "len", "enumerate", "reversed", "min"))


def _loops(node: cst.CSTNode) -> Iterator[Loop]:
    if isinstance(node, cst.For | cst.ListComp | cst.GeneratorExp):
        yield node
    for child in node.children:
        yield from _loops(child)


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
    if walk is None:
        return []
    bound = set(flow(body).bound)
    if walk.index in bound:
        return []
    around = [named.get(above, set()) for above in parsed.ancestors(loop)]
    used = _used(_function(parsed, loop), loop).union(*around)
    taken = _taken(parsed, loop, walk, body, used)
    if not taken:
        return []
    named[loop] = {one.name for one in taken}
    return [*_replaced(taken), _head(loop, walk, taken)]


# -- what is taken ------------------------------------------------------------------------------------------------


def _taken(parsed: Parsed, loop: Loop, walk: Walk, body: Sequence[cst.CSTNode], used: set[str]) -> list[_Taken]:
    """What the body applies and surely takes in every turn: first what is most likely to be the layers."""
    found: dict[tuple[str, str], _Places] = {}
    _collect(body, walk.index, set(flow(body).bound), found)
    stored = {container for (container, _), places in found.items() if places.stored}
    sure, bindings = frozenset() if ends_loop(body) else surely(body), _bindings(loop)
    taken: list[_Taken] = []
    for (container, number), places in found.items():
        first = places.reads[0] if places.reads else None
        if first is None or container in stored:
            continue
        own = [one for one in bindings if any(one.value is place for place in places.reads)]
        once = len(own) == 1 and _bound_once(body, own[0].name)
        named = [name for place in places.reads if (name := _named(parsed, place)) is not None]
        if not any(_is_applied(parsed, place) for place in places.reads) and not any(
            _calls(body, one) for one in named
        ):
            continue
        whole = number == walk.index and walk.numbers.counts(container)
        if not whole and not any(place in sure for place in places.reads):
            continue
        name = own[0].name if once else _fresh(container, used)
        used.add(name)
        index = first.slice[0].slice
        assert isinstance(index, cst.Index)
        gone = tuple(own) if once else ()
        taken.append(_Taken(first.value, index.value, tuple(places.reads), name, gone))
    return sorted(taken, key=lambda one: (code_of(one.number) != walk.index, one.name not in _LAYERS))


def _collect(nodes: Sequence[cst.CSTNode], index: str, bound: set[str], found: dict[tuple[str, str], _Places]) -> None:
    """The subscripts `container[number]` whose number depends on the index and on nothing that the body binds."""
    for node in nodes:
        if isinstance(node, cst.Subscript) and (key := _key(node, index, bound)) is not None:
            found.setdefault(key, _Places()).reads.append(node)
            continue
        for target in _targets(node):
            for stored in _stored(target, index, bound):
                found.setdefault(stored, _Places()).stored = True
        inner = _own_names(node) if isinstance(node, _SCOPES) else set()
        if index not in inner:  # else the scope has an index of its own, and stays as it is
            _collect(node.children, index, bound | inner, found)


def _own_names(node: cst.CSTNode) -> set[str]:
    """The names that a scope binds for itself, at whatever depth."""
    found: set[str] = set()
    if isinstance(node, cst.Param):
        found.add(node.name.value)
    elif isinstance(node, _BINDERS):
        found |= set(target_names(node.target))
    for child in node.children:
        found |= _own_names(child)
    return found


def _key(node: cst.Subscript, index: str, bound: set[str]) -> tuple[str, str] | None:
    container = dotted(node.value)
    if container is None or len(node.slice) != 1:
        return None
    inner = node.slice[0].slice
    if not isinstance(inner, cst.Index) or inner.star is not None:
        return None
    root = container.partition(".")[0]
    names = set(reads(inner.value))
    if index not in names or root == index or root in bound or names & bound or not arithmetic(inner.value):
        return None
    return container, code_of(inner.value)


def _targets(node: cst.CSTNode) -> list[cst.BaseExpression]:
    match node:
        case cst.Assign():
            return [one.target for one in node.targets]
        case cst.AnnAssign() | cst.AugAssign() | cst.Del() | cst.For():
            return [node.target]
        case _:
            return []


def _stored(target: cst.CSTNode, index: str, bound: set[str]) -> Iterator[tuple[str, str]]:
    """What a target stores into: `self.layers[i]`, an element of it, an attribute of it."""
    if isinstance(target, cst.Subscript) and (key := _key(target, index, bound)) is not None:
        yield key
    elif isinstance(target, cst.Subscript) and (name := dotted(target.value)) is not None:
        yield name, ""  # by a number that is not understood
    elif not isinstance(target, cst.Index | cst.SubscriptElement):
        for child in target.children:
            yield from _stored(child, index, bound)


def _is_applied(parsed: Parsed, place: cst.CSTNode) -> bool:
    """`self.layers[i](x)`, `self.layers[i].attend(x)`, `jax.vmap(self.layers[i])(x)`."""
    node, above = place, parsed.parent(place)
    while isinstance(above, cst.Attribute):
        node, above = above, parsed.parent(above)
    if isinstance(above, cst.Call):
        return above.func is node
    call = parsed.parent(above) if isinstance(above, cst.Arg) else None
    around = parsed.parent(call) if isinstance(call, cst.Call) else None
    return isinstance(around, cst.Call) and around.func is call


def _named(parsed: Parsed, place: cst.CSTNode) -> str | None:
    """`layer` of `layer = self.layers[i]`."""
    match parsed.parent(place):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return str(name)
        case cst.AnnAssign(target=cst.Name(value=name)):
            return str(name)
        case _:
            return None


def _calls(nodes: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether some code calls a name or a method of it, or gives it to a call."""
    for node in nodes:
        if isinstance(node, cst.Call):
            given = [dotted(one) or "" for one in (node.func, *(arg.value for arg in node.args))]
            if any(one == name or one.startswith(f"{name}.") for one in given):
                return True
        if _calls(node.children, name):
            return True
    return False


# -- `layer = self.layers[i]` -------------------------------------------------------------------------------------


def _bindings(loop: Loop) -> list[_Binding]:
    """The statements of the body's own level that bind one name."""
    found = []
    body = loop.body.body if isinstance(loop, cst.For) and isinstance(loop.body, cst.IndentedBlock) else ()
    for line in body:
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
            ):
                found.append(_Binding(line, name, value))
            case cst.SimpleStatementLine(
                body=[cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression() as value)]
            ):
                found.append(_Binding(line, name, value))
    return found


def _bound_once(body: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether one statement alone binds a name, and nothing reads it before."""
    names = flow(body)
    return name not in names.exposed and _times_bound(body, name) == 1


def _times_bound(nodes: Sequence[cst.CSTNode], name: str) -> int:
    times = 0
    for node in nodes:
        if isinstance(node, cst.FunctionDef | cst.ClassDef) and node.name.value == name:
            times += 1
        if isinstance(node, _BINDERS):
            times += target_names(node.target).count(name)
        elif isinstance(node, cst.AsName | cst.Param | cst.NameItem | cst.Del):
            times += any(one == name for one in _names(node))
        times += _times_bound(node.children, name)
    return times


# -- names --------------------------------------------------------------------------------------------------------


def _function(parsed: Parsed, loop: Loop) -> cst.CSTNode:
    """The outermost function around a loop."""
    functions = [one for one in parsed.ancestors(loop) if isinstance(one, cst.FunctionDef)]
    return functions[-1] if functions else parsed.module


def _used(function: cst.CSTNode, loop: Loop) -> set[str]:
    """The names in a function that are no good for a new target: other loops may have the same one."""
    return _names(function) - set(_walked_alone(function, loop))


def _walked_alone(node: cst.CSTNode, loop: Loop) -> Iterator[str]:
    """Names that stand in one other loop, as its target, and nowhere else."""
    for other in _loops(node):
        for name in target_names(other.target if isinstance(other, cst.For) else other.for_in.target):
            if other is not loop and _count(node, name) == _count(other, name) and not _count(loop, name):
                yield name


def _count(node: cst.CSTNode, name: str) -> int:
    own = int(isinstance(node, cst.Name) and node.value == name)
    return own + sum(_count(child, name) for child in node.children)


def _names(node: cst.CSTNode) -> set[str]:
    found = {node.value} if isinstance(node, cst.Name) else set()
    for child in node.children:
        found |= _names(child)
    return found


def _fresh(container: str, used: set[str]) -> str:
    """A name for one element: `layer` for `self.layers`."""
    last = container.rpartition(".")[2].lstrip("_")
    one = last[:-1] if last.endswith("s") and not last.endswith("ss") else "layer"
    one = one if one.isidentifier() and not keyword.iskeyword(one) and not one[0].isupper() else "layer"
    name, number = one, 2
    while name in used:
        name, number = f"{one}_{number}", number + 1
    return name


# -- the changes --------------------------------------------------------------------------------------------------


def _replaced(taken: Sequence[_Taken]) -> Iterator[Change]:
    for one in taken:
        gone = {binding.value for binding in one.bindings}
        for place in one.places:
            if place not in gone:
                yield Change(place, cst.Name(one.name, lpar=place.lpar, rpar=place.rpar))
        for binding in one.bindings:
            yield Change(binding.line, None)


def _head(loop: Loop, walk: Walk, taken: Sequence[_Taken]) -> Change:
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


def _walked(one: _Taken, numbers: Numbers, index: str) -> cst.BaseExpression:
    container = one.container.deep_clone()
    assert isinstance(container, cst.BaseExpression)
    if code_of(one.number) == index and numbers.counts(dotted(one.container) or ""):
        return container
    number = one.number.deep_clone()
    assert isinstance(number, cst.BaseExpression)
    element = cst.Subscript(container, [cst.SubscriptElement(cst.Index(number))])
    return cst.ListComp(element, cst.CompFor(cst.Name(index), numbers.expression()))
