"""What the body of a loop takes by number, where it does so in every turn, and under which name it goes then."""

import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from scanify.analysis.children import children
from scanify.analysis.code import code_of
from scanify.analysis.dotted import dotted
from scanify.analysis.names import flow, reads, target_names
from scanify.analysis.numbers import Walk, arithmetic, label
from scanify.analysis.surely import ends_loop, reads_first, surely
from scanify.source.parse import Parsed

Loop = cst.For | cst.ListComp | cst.GeneratorExp

_SCOPES = (cst.Lambda, cst.FunctionDef, cst.ClassDef, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)

_LAYERS = ("layer", "block")
_BINDERS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)


@dataclass(frozen=True, eq=False)
class Binding:
    """`layer = self.layers[i]` on a line of its own."""

    line: cst.SimpleStatementLine
    name: str
    value: cst.BaseExpression


@dataclass
class Places:
    """Where a body reads one element, and where it stores it or something in it."""

    reads: list[cst.Subscript] = field(default_factory=list)
    stores: list[cst.CSTNode] = field(default_factory=list)

    @property
    def stored(self) -> bool:
        return bool(self.stores)


@dataclass(frozen=True, eq=False)
class Taken:
    """One thing that a loop takes by number: `self.layers[i]`, wherever it stands in the body.

    `name` is what stands for it then, `bindings` are the statements `layer = self.layers[i]` that go. `own_place`: the
    loop stores into the list at the same number.
    """

    places: Places
    name: str
    bindings: tuple[Binding, ...] = ()
    own_place: bool = False

    @property
    def container(self) -> cst.BaseExpression:
        return self.places.reads[0].value

    @property
    def number(self) -> cst.BaseExpression:
        return number_of(self.places.reads[0])


def number_of(taken: cst.Subscript) -> cst.BaseExpression:
    """`i` of `self.layers[i]`."""
    inner = taken.slice[0].slice
    assert isinstance(inner, cst.Index)
    return inner.value


def loops_of(node: cst.CSTNode) -> Iterator[Loop]:
    """Every loop and comprehension in some code, the outer ones first."""
    if isinstance(node, cst.For | cst.ListComp | cst.GeneratorExp):
        yield node
    for child in children(node):
        yield from loops_of(child)


def what_is_taken(parsed: Parsed, loop: Loop, walk: Walk, body: Sequence[cst.CSTNode], used: set[str]) -> list[Taken]:
    """What the body applies and surely takes in every turn: first what is most likely to be the layers.

    And what it reads of a list where it stores into that list at the same number: `x, caches[i] = layer(x, caches[i])`.
    """
    found: dict[tuple[str, str], Places] = {}
    _collect(body, walk.index, set(flow(body).bound), found)
    sure, bindings = frozenset() if ends_loop(body) else surely(body), _bindings(loop)
    taken: list[Taken] = []
    for (container, number), places in found.items():
        whole = number == walk.index and (walk.numbers.counts(container) or walk.numbers.keys(container))
        if not places.reads or not (whole or any(place in sure for place in places.reads)):
            continue
        stores = [(key, one) for key, one in found.items() if key[0] == container and one.stored]
        own_place = bool(stores) and _is_own_place(parsed, walk, container, number, found, body)
        if stores and not own_place:
            continue
        own = [one for one in bindings if any(one.value is place for place in places.reads)]
        once = len(own) == 1 and _bound_once(body, own[0].name)
        if not own_place and not _applies(parsed, body, places.reads):
            continue
        name = own[0].name if once else fresh(one_of(container, "old_" if own_place else ""), used)
        used.add(name)
        taken.append(Taken(places, name, tuple(own) if once else (), own_place))
    if not _evaluated_again(parsed, loop, walk, [dotted(one.container) for one in taken]):
        return []
    return sorted(taken, key=lambda one: (one.own_place, code_of(one.number) != walk.index, one.name not in _LAYERS))


def _evaluated_again(parsed: Parsed, loop: Loop, walk: Walk, containers: Sequence[str | None]) -> bool:
    """Whether what a loop walks gives the same when it is evaluated again: it counts, it is an attribute, a dict of
    which the loop takes something by its key, or a tuple, list or class that the file names."""
    keys_of = walk.numbers.keys_of
    if keys_of is None or keys_of in containers or isinstance(walk.numbers.node, cst.Attribute):
        return True
    return isinstance(walk.numbers.node, cst.Name) and _is_constant(parsed, loop, keys_of)


def _is_constant(parsed: Parsed, loop: Loop, name: str) -> bool:
    """Whether a name is bound once, at the top of the file, to a display or a class."""
    functions = [one for one in parsed.ancestors(loop) if isinstance(one, cst.FunctionDef | cst.Lambda)]
    if any(name in _own_names(one) for one in functions) or name not in flow(parsed.module.body).bound:
        return False
    given: list[cst.CSTNode] = []
    for line in parsed.module.body:
        match line:
            case cst.ClassDef(name=cst.Name(value=bound)):
                given += [line] if bound == name else []
            case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]):
                given += [value] if dotted(target) == name else []
    once = len(given) == 1 and _times_bound(parsed.module.body, name) == 1
    return once and isinstance(given[0], cst.ClassDef | cst.Tuple | cst.List)


def _is_own_place(
    parsed: Parsed,
    walk: Walk,
    container: str,
    number: str,
    found: dict[tuple[str, str], Places],
    body: Sequence[cst.CSTNode],
) -> bool:
    """Whether a turn reads and stores one element of a list, that of its own number, and reads it first.

    The numbers must be different places of the list: what a turn reads has not been stored by one before it.
    """
    others = [key for key in found if key[0] == container and key != (container, number)]
    places = found[container, number]
    if others or "." in container or not walk.numbers.are_places(number_of(places.reads[0]), walk.index):
        return False
    if any(_in_a_scope(parsed, place, body) for place in places.reads):
        return False  # it may be read later than it stands
    return reads_first(body, frozenset(places.reads), frozenset(places.stores))


def _in_a_scope(parsed: Parsed, place: cst.CSTNode, body: Sequence[cst.CSTNode]) -> bool:
    for above in parsed.ancestors(place):
        if isinstance(above, cst.Lambda | cst.FunctionDef | cst.GeneratorExp):
            return True
        if above in body:
            return False
    return False


def _collect(nodes: Sequence[cst.CSTNode], index: str, bound: set[str], found: dict[tuple[str, str], Places]) -> None:
    """The subscripts `container[number]` whose number depends on the index and on nothing that the body binds."""
    for node in nodes:
        if isinstance(node, cst.Subscript) and (key := _key(node, index, bound)) is not None:
            found.setdefault(key, Places()).reads.append(node)
            continue
        for target in _targets(node):
            for stored in _stored(target, index, bound):
                found.setdefault(stored, Places()).stores.append(target)
        if isinstance(node, cst.AssignTarget):  # what is stored into is not read
            _collect(_read_in(node.target), index, bound, found)
            continue
        inner = _own_names(node) if isinstance(node, _SCOPES) else set()
        if index not in inner:  # else the scope has an index of its own, and stays as it is
            _collect(children(node), index, bound | inner, found)


def _own_names(node: cst.CSTNode) -> set[str]:
    """The names that a scope binds for itself, at whatever depth."""
    found: set[str] = set()
    if isinstance(node, cst.Param):
        found.add(node.name.value)
    elif isinstance(node, _BINDERS):
        found |= set(target_names(node.target))
    for child in children(node):
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
    if (
        index not in names
        or root == index
        or root in bound
        or names & bound
        or not (arithmetic(inner.value) or label(inner.value))
    ):
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


def _read_in(target: cst.CSTNode) -> list[cst.CSTNode]:
    """The expressions that a target evaluates: `caches` and `i` of `caches[i]`, not the element itself."""
    if isinstance(target, cst.Subscript):
        return [target.value, *target.slice]
    if isinstance(target, cst.Tuple | cst.List):
        return [part for element in target.elements for part in _read_in(element.value)]
    return list(children(target))


def _stored(target: cst.CSTNode, index: str, bound: set[str]) -> Iterator[tuple[str, str]]:
    """What a target stores into: `self.layers[i]`, an element of it, an attribute of it."""
    if isinstance(target, cst.Subscript) and (key := _key(target, index, bound)) is not None:
        yield key
    elif isinstance(target, cst.Subscript) and (name := dotted(target.value)) is not None:
        yield name, ""  # by a number that is not understood
    elif not isinstance(target, cst.Index | cst.SubscriptElement):
        for child in children(target):
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


def _applies(parsed: Parsed, body: Sequence[cst.CSTNode], places: Sequence[cst.Subscript]) -> bool:
    named = [name for place in places if (name := _named(parsed, place)) is not None]
    return any(_is_applied(parsed, place) for place in places) or any(_calls(body, name) for name in named)


def _calls(nodes: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether some code calls a name or a method of it, or gives it to a call."""
    for node in nodes:
        if isinstance(node, cst.Call):
            given = [dotted(one) or "" for one in (node.func, *(arg.value for arg in node.args))]
            if any(one == name or one.startswith(f"{name}.") for one in given):
                return True
        if _calls(children(node), name):
            return True
    return False


# -- `layer = self.layers[i]` -------------------------------------------------------------------------------------


def _bindings(loop: Loop) -> list[Binding]:
    """The statements of the body's own level that bind one name."""
    found = []
    body = loop.body.body if isinstance(loop, cst.For) and isinstance(loop.body, cst.IndentedBlock) else ()
    for line in body:
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
            ):
                found.append(Binding(line, name, value))
            case cst.SimpleStatementLine(
                body=[cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression() as value)]
            ):
                found.append(Binding(line, name, value))
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
        times += _times_bound(children(node), name)
    return times


# -- names --------------------------------------------------------------------------------------------------------


def function_around(parsed: Parsed, loop: Loop) -> cst.CSTNode:
    """The outermost function around a loop."""
    functions = [one for one in parsed.ancestors(loop) if isinstance(one, cst.FunctionDef)]
    return functions[-1] if functions else parsed.module


def used_names(function: cst.CSTNode, loop: Loop) -> set[str]:
    """The names in a function that are no good for a new target: other loops may have the same one."""
    return _names(function) - set(_walked_alone(function, loop))


def _walked_alone(node: cst.CSTNode, loop: Loop) -> Iterator[str]:
    """Names that stand in one other loop, as its target, and nowhere else."""
    for other in loops_of(node):
        for name in target_names(other.target if isinstance(other, cst.For) else other.for_in.target):
            if other is not loop and _count(node, name) == _count(other, name) and not _count(loop, name):
                yield name


def _count(node: cst.CSTNode, name: str) -> int:
    own = int(isinstance(node, cst.Name) and node.value == name)
    return own + sum(_count(child, name) for child in children(node))


def _names(node: cst.CSTNode) -> set[str]:
    found = {node.value} if isinstance(node, cst.Name) else set()
    for child in children(node):
        found |= _names(child)
    return found


def one_of(container: str, otherwise: str = "") -> str:
    """A name for one element: `layer` for `self.layers`; for what is no plural, one with `otherwise` in front."""
    last = container.rpartition(".")[2].lstrip("_")
    one = last[:-1] if last.endswith("s") and not last.endswith("ss") else f"{otherwise}{last}" if otherwise else ""
    return one if one.isidentifier() and not keyword.iskeyword(one) and not one[0].isupper() else "layer"


def fresh(one: str, used: set[str]) -> str:
    """A name, or one like it that is not used."""
    name, number = one, 2
    while name in used:
        name, number = f"{one}_{number}", number + 1
    return name
