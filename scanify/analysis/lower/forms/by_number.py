"""Loops that take layers by number, `for i in range(n): x = self.layers[i](x)`, as loops that walk what they take.

What a number stands for stays what it is in Python: the list is walked by the very numbers, `[self.layers[i] for i in
range(n)]`, unless they are those of the list itself, so that a list which is too short is the error that it was, and
one which is longer is not walked to its end. An element that is taken only under a condition is left where it is: a
list may be too short for an iteration that does not read it.

So are attributes that are taken by a name with a number in it: `getattr(self, f"layer{i}")`.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scanify.analysis.flow.definite import bound_once, definitely_evaluated, reads_before_stores
from scanify.analysis.flow.names import flow, reads, target_names
from scanify.analysis.flow.statements import given_to
from scanify.analysis.lower.forms.numbers import Numbers, numbers_of
from scanify.analysis.lower.forms.places import Places, collect
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.head import Head, HeadReader
from scanify.analysis.lower.loop import Index, Loop, Order, Problem, Walk
from scanify.analysis.lower.nodes import mentions, names_in, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parameters, parent_of
from scanify.analysis.lower.text import called, code, container_text, dotted, made, singular, unused

_LAYERS = ("layer", "block")
_WALK_LIST = "walk the list itself: `for layer in self.layers`"


@dataclass(frozen=True, eq=False)
class _Binding:
    """`layer = self.layers[i]`, `attn, mlp = self.pairs[i]`."""

    statement: ast.stmt
    target: ast.expr
    value: ast.expr


@dataclass(frozen=True, eq=False)
class _Taken:
    """One thing that a loop takes by number: `name` is what stands for it then, `bindings` are statements
    `layer = self.layers[i]` that go. `own_place`: the loop stores into the list at the same number."""

    places: Places
    name: str
    bindings: tuple[_Binding, ...]
    own_place: bool
    applied: bool
    pattern: ast.expr | None = None


def taken_by_number(loop: Loop, head: Head, reader: HeadReader) -> Loop:
    """The loop with what it takes by number as walks of their own; as it is where it takes nothing."""
    numbers = numbers_of(reader, head)
    if loop.problem is not None:
        return loop
    if numbers is None:
        return loop
    if head.index is None and numbers.keys_of is not None and _is_used(loop.body, numbers.index.id):
        return loop  # a plain walk, whose elements are no keys
    bound = flow(loop.body).bound
    taken = (
        [each for each in _taken(loop, numbers, set(bound)) if each.applied] if numbers.index.id not in bound else []
    )
    if not any(each.applied for each in taken) or not _evaluated_again(loop, numbers, taken):
        return _not_taken(loop, numbers, set(bound))
    return _taking(loop, numbers, taken, reader)


def _is_used(body: Sequence[ast.AST], name: str) -> bool:
    """Whether a body calls a name, or reads an attribute of it."""
    for node in (each for statement in body for each in nodes_in(statement)):
        used = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
        if isinstance(node, ast.Call | ast.Attribute) and isinstance(used, ast.Name) and used.id == name:
            return True
    return False


def _not_taken(loop: Loop, numbers: Numbers, bound: set[str]) -> Loop:
    """A loop that applies what it takes by number only under a condition, with the reason why it stays."""
    place = _applied(loop, numbers.index.id, bound)
    if place is None or any(walk.target is not numbers.index for walk in loop.walks):
        return loop
    what = f"`{ast.unparse(place)}`"
    reason = f"the layers are taken by number, and {what} may be beyond the list in some iterations"
    if numbers.keys_of is not None and numbers.keys_of == ast.unparse(_container(place)):
        reason = f"the layers are taken from a dict by name, and {what} may be missing in some iterations"
    return _stays(loop, place, Problem("SCN208", reason, place))


def by_changed_number(loop: Loop) -> Loop:
    """A loop that applies what it takes by a number of its own making, with the reason why it stays.

    Such a number is one of a `while`, of a counter that the body moves on, or computed in it.
    """
    if loop.problem is not None or len(loop.walks) + (loop.index is not None) > 1:
        return loop
    bound = flow(loop.body).bound
    for name in loop.targets if loop.walks else dict.fromkeys((*bound, *loop.targets)):
        if loop.walks and _is_used(loop.body, name):
            continue  # an element, not a number
        place = _applied(loop, name, set(bound) - {name}) or _applied(loop, name, set())
        if place is not None:
            how = "which the body changes" if name in bound else "which may be another one when it is evaluated again"
            reason = f"the layers are taken by the number `{name}`, {how}"
            return _stays(loop, place, Problem("SCN208", reason, place, _WALK_LIST))
    return loop


def _applied(loop: Loop, index: str, bound: set[str]) -> ast.expr | None:
    """The first place where a body applies what it takes by a number."""
    every: dict[tuple[str, str], Places] = {}
    collect(loop.body, index, bound, every)
    return next((each.reads[0] for each in every.values() if each.reads and _is_applied(loop, each)), None)


def _stays(loop: Loop, place: ast.expr, problem: Problem) -> Loop:
    """The loop as one that walks the list, all elements of which one place in its body stands for."""
    container = _container(place)
    name = unused(singular(ast.unparse(container)), _used_names(loop))
    body, replaced = rebuilt(loop.module, loop.body, [Change(place, name)])
    text = code(loop.module, container)
    walk = Walk(made(ast.Name(name, ast.Store()), place), container, container, text, text, text, Order.NUMBERED)
    return replace(loop, walks=(replace(walk, element=place),), body=body, replaced=replaced, problem=problem)


def _container(place: ast.expr) -> ast.expr:
    """`self.layers` of `self.layers[i]`, `self` of `getattr(self, f"layer{i}")`."""
    assert isinstance(place, ast.Subscript | ast.Call)
    return place.value if isinstance(place, ast.Subscript) else place.args[0]


def _taking(loop: Loop, numbers: Numbers, taken: list[_Taken], reader: HeadReader) -> Loop:
    taken.sort(key=lambda each: (not each.applied, each.own_place, not _plain(each, numbers), each.name not in _LAYERS))
    bindings = [binding for each in taken for binding in each.bindings]
    values = {binding.value for binding in bindings}
    gone = {each.statement for each in bindings if values.issuperset(value for _, value in _pairs(each.statement))}
    kept = values - {binding.value for binding in bindings if binding.statement in gone}
    changes = [Change(place, each.name) for each in taken for place in each.places.reads if place not in values - kept]
    changes += [Change(statement, None) for statement in gone]
    body, replaced = rebuilt(loop.module, loop.body, changes)
    if not body:
        return loop
    if any(numbers.keys_of == ast.unparse(each.places.container) and numbers.in_order for each in taken):
        text = numbers.text if numbers.text.startswith("list(") else f"list({numbers.text})"
        numbers = replace(numbers, text=text)
    walks = (*numbers.beside, *(_walk(loop, each, numbers) for each in taken))
    read = numbers.index.id in flow(body).read_first
    first = loop.index.first if loop.index is not None else None
    text = reader.numbers_text(numbers.node, numbers.text)
    index = Index(numbers.index, text, first=first, numbers=numbers.node, read=read)
    every = tuple(sorted((*replaced, *loop.replaced), key=lambda each: (each.start, each.end)))
    element = body[0].value if loop.element is not None and isinstance(body[0], ast.Expr) else None
    return replace(loop, walks=walks, index=index, body=body, element=element, replaced=every)


def _plain(taken: _Taken, numbers: Numbers) -> bool:
    """Whether the number is the loop's index as it is."""
    return dotted(taken.places.number) == numbers.index.id


def _walk(loop: Loop, taken: _Taken, numbers: Numbers) -> Walk:
    container, place = taken.places.container, taken.places.reads[0]
    target = made(ast.Name(taken.name, ast.Store()), place) if taken.pattern is None else taken.pattern
    text, plain = ast.unparse(container), _plain(taken, numbers) and isinstance(place, ast.Subscript)
    if plain and not taken.own_place and numbers.of == text:
        return Walk(target, container, container, text, text, text, element=place)
    if plain and not taken.own_place and numbers.keys_of == text and numbers.in_order:
        func = made(ast.Attribute(container, "values", ast.Load()), place)
        viewed = made(ast.Call(func, [], []), place)
        values = f"{text}.values()"
        beside = f"list({values})"
        return Walk(target, viewed, container, values, beside, text, Order.VALUES, "values", element=place)
    every = f"for {numbers.index.id} in {numbers.text}"
    written = code(loop.module, place)
    text = f"[{written if chr(10) not in written else ast.unparse(place)} {every}]"
    number = numbers.text if _plain(taken, numbers) else f"[{ast.unparse(taken.places.number)} {every}]"
    source = made(ast.parse(text, mode="eval").body, place)
    return Walk(target, source, container, text, text, text, Order.NUMBERED, element=place, numbers=number)


def _taken(loop: Loop, numbers: Numbers, bound: set[str]) -> Iterator[_Taken]:
    """What the body definitely takes in every iteration, and applies; and what it reads of other lists by number."""
    every: dict[tuple[str, str], Places] = {}
    collect(loop.body, numbers.index.id, bound, every)
    if not any(places.reads for places in every.values()):
        return
    definite = definitely_evaluated(loop.body)
    used: set[str] | None = None
    for (container, number), places in every.items():
        plain = number == numbers.index.id
        whole = plain and (numbers.of == container or (numbers.keys_of == container and numbers.in_order))
        if not places.reads or not (whole or any(place in definite for place in places.reads)):
            continue
        stores = any(key[0] == container and each.stores for key, each in every.items())
        own_place = stores and _is_own_place(loop, numbers, container, number, every)
        bindings = _bindings(loop, places)
        applied = own_place or _is_applied(loop, places)
        if (stores and not own_place) or not (applied or _only_read(loop, container, number, places)):
            continue
        pattern = _only_target(loop, places, bindings)
        if isinstance(pattern, ast.Name):
            name = pattern.id
        else:
            used = _used_names(loop) if used is None else used
            name = _name(places, own_place, applied)
            name = unused(_with_its_number(loop, places, name, used) or name, used)
            used.add(name)
        yield _Taken(places, name, tuple(bindings) if pattern is not None else (), own_place, applied, pattern)


def _only_target(loop: Loop, places: Places, bindings: Sequence[_Binding]) -> ast.expr | None:
    """What one statement binds an element to, for all of the iteration: a name, or a pattern that takes it apart."""
    if len(bindings) != 1 or not all(bound_once(loop.body, name) for name in target_names(bindings[0].target)):
        return None
    target = bindings[0].target
    parts = target.elts if isinstance(target, ast.Tuple) else []
    apart = bool(parts) and all(isinstance(part, ast.Name) for part in parts) and len(places.reads) == 1
    return target if apart or isinstance(target, ast.Name) else None


def _name(places: Places, own_place: bool, applied: bool) -> str:
    otherwise = "old_" if own_place else "" if applied else "this_"
    return singular(ast.unparse(places.container), otherwise) if isinstance(places.reads[0], ast.Subscript) else "layer"


def _with_its_number(loop: Loop, places: Places, name: str, used: set[str]) -> str | None:
    """`hs_i` for `hs[i]`, where another thing is called `h`, or the list's name says nothing of one of its elements."""
    place, index = places.reads[0], dotted(places.number)
    last = (dotted(places.container) or "").rpartition(".")[2].lstrip("_")
    if not isinstance(place, ast.Subscript) or index is None or not f"{last}_{index}".isidentifier() or not last:
        return None
    above = parent_of(loop.module, place)
    said = name != "layer" or name in last or (isinstance(above, ast.Call) and above.func is place)
    return f"{last}_{index}" if name in used or not said else None


def _pairs(statement: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """What a statement of the body binds to what: `layer = self.layers[i]`, `a, b = self.layers[i], self.norms[i]`."""
    match statement:
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
            return given_to(target, value)
        case _:
            return []


def _bindings(loop: Loop, places: Places) -> list[_Binding]:
    """The statements of the body's own level that give a name what is taken."""
    return [
        _Binding(statement, target, value)
        for statement in loop.body
        for target, value in _pairs(statement)
        if value in places.reads
    ]


def _evaluated_again(loop: Loop, numbers: Numbers, taken: Sequence[_Taken]) -> bool:
    """Whether what a loop walks gives the same when it is evaluated again: it counts, it is an attribute, a dict of
    which the loop takes something by its key, or a tuple, list or class that the file names."""
    name = numbers.keys_of
    if name is None or "." in name or any(ast.unparse(each.places.container) == name for each in taken):
        return True
    holder, given = loop.scope.binding(name), loop.module.definitions.get(name, ())
    if holder is None or holder.parent is not None or len(given) != 1 or name in loop.module.rebound:
        return False
    value = getattr(given[0], "value", None)
    return isinstance(given[0], ast.ClassDef) or isinstance(value, ast.Tuple | ast.List)


# -- places ------------------------------------------------------------------------------------------------------------


def _is_own_place(
    loop: Loop, numbers: Numbers, container: str, number: str, every: dict[tuple[str, str], Places]
) -> bool:
    """Whether an iteration reads and stores one element of a list, that of its own number, and reads it first.

    The numbers must be different places of the list: what an iteration reads has not been stored by one before it.
    """
    others = [key for key in every if key[0] == container and key != (container, number)]
    places = every[container, number]
    if others or not container.isidentifier() or not numbers.are_places(places.number):
        return False
    later = (*FUNCTIONS, ast.Lambda, ast.GeneratorExp)  # what stands in one may be read later
    if any(isinstance(above, later) for place in places.reads for above in _up_to_loop(loop, place)):
        return False
    return reads_before_stores(loop.body, places.reads, places.stores)


def _up_to_loop(loop: Loop, place: ast.AST) -> Iterator[ast.AST]:
    for above in ancestors(loop.module, place):
        if above is loop.node:
            return
        yield above


def _is_applied(loop: Loop, places: Places) -> bool:
    statements = (each for part in loop.body for each in nodes_in(part) if isinstance(each, ast.Assign | ast.AnnAssign))
    given_to_names = (pair for statement in statements for pair in _pairs(statement))
    named = {name for target, value in given_to_names if _is_made_of(value, places) for name in target_names(target)}
    if any(_is_called(loop, place) for place in places.reads):
        return True
    calls = (each for statement in loop.body for each in nodes_in(statement) if isinstance(each, ast.Call))
    given = (each for call in calls for each in (call.func, *call.args, *(word.value for word in call.keywords)))
    return bool(named) and any((dotted(each) or "").partition(".")[0] in named for each in given)


def _is_made_of(value: ast.expr, places: Places) -> bool:
    """Whether a value is an element, or a function that is made of one: `jax.checkpoint(self.layers[i])`."""
    if isinstance(value, ast.IfExp):
        return _is_made_of(value.body, places) or _is_made_of(value.orelse, places)
    given = value.args if isinstance(value, ast.Call) else []
    return value in places.reads or any(_is_made_of(each, places) for each in given)


def _is_called(loop: Loop, place: ast.AST) -> bool:
    """`self.layers[i](x)`, `self.layers[i].attend(x)`, `jax.vmap(self.layers[i])(x)`, `self.grus[i][j](x)`; and what is
    walked by a loop inside, `for layer in self.stages[i]`."""
    node, above = place, parent_of(loop.module, place)
    while isinstance(above, ast.Attribute | ast.Subscript | ast.NamedExpr) and above.value is node:
        node, above = above, parent_of(loop.module, above)
    if isinstance(above, ast.For | ast.comprehension) and above.iter is node:
        return True
    bound = flow(loop.body).bound
    while isinstance(above, ast.Call):
        if above.func is node:
            return True
        if node is place and set(reads(*(each for each in above.args if each is not place))) & set(bound):
            return True  # `x = apply(self.layers[i], x)`
        node, above = above, parent_of(loop.module, above)
    return False


def _only_read(loop: Loop, container: str, number: str, places: Places) -> bool:
    """Whether a body does nothing else with a list than to read its elements by this number: `keys[i]`."""
    if not all(isinstance(place, ast.Subscript) for place in places.reads):
        return False
    own = {each for place in places.reads for each in nodes_in(place)}
    for statement in loop.body:
        for node in nodes_in(statement):
            if node not in own and isinstance(node, ast.expr) and container_text(node) == container:
                return False
    return called(places.container) is None


def _used_names(loop: Loop) -> set[str]:
    """The names in the outermost function that are no good for a new target: other loops may have the same one."""
    functions = [each for each in ancestors(loop.module, loop.node) if isinstance(each, FUNCTIONS)]
    around = functions[-1] if functions else loop.module.tree
    used = names_in([around])
    used |= {arg.arg for each in nodes_in(around) for arg in parameters(each)}
    given = names_in(walk.target for walk in loop.walks)
    inside = list(ancestors(loop.module, loop.node))
    for other in nodes_in(around):
        if isinstance(other, ast.For | ast.comprehension) and isinstance(other.target, ast.Name):
            whole = parent_of(loop.module, other) if isinstance(other, ast.comprehension) else other
            if whole is not None and other is not loop.node and whole is not loop.node and whole not in inside:
                name = other.target.id
                if len(mentions(name, around)) == len(mentions(name, whole)) and not mentions(name, loop.node):
                    used.discard(name)
    return used | given
