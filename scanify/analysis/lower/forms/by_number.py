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

from scanify.analysis.flow.exits import exits_of
from scanify.analysis.flow.names import flow, reads, target_names
from scanify.analysis.lower.forms.numbers import Numbers, numbers_of
from scanify.analysis.lower.forms.places import Places, collect
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.head import Head, HeadReader
from scanify.analysis.lower.loop import Index, Loop, Order, Problem, Walk
from scanify.analysis.lower.nodes import mentions, names_in, nodes_in
from scanify.analysis.lower.scope import COMPREHENSIONS, FUNCTIONS, ancestors, parameters, parent_of
from scanify.analysis.lower.text import code, dotted, made, singular, unused

_LAYERS = ("layer", "block")
_WALK_LIST = "walk the list itself: `for layer in self.layers`"
_LATER = (*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS, ast.Try, ast.TryStar, ast.Match, ast.Assert)


@dataclass(frozen=True, eq=False)
class _Taken:
    """One thing that a loop takes by number: `name` is what stands for it then, `binding` the
    statement `layer = self.layers[i]` that goes, with its value and its target."""

    places: Places
    name: str
    binding: tuple[ast.stmt, ast.expr, str] | None


def taken_by_number(loop: Loop, head: Head, reader: HeadReader) -> Loop:
    """The loop with what it takes by number as walks of their own; as it is where it takes nothing."""
    numbers = numbers_of(reader, head)
    if loop.problem is not None or numbers is None:
        return loop
    index, bound = numbers.index.id, set(flow(loop.body).bound)
    if numbers.keys_of is not None and _is_used(loop.body, index):
        return loop  # a plain walk, whose elements are no keys
    taken = list(_taken(loop, numbers, bound)) if index not in bound else []
    if any(ast.unparse(each.places.container) == numbers.keys_of for each in taken):
        return _taking(loop, replace(numbers, text=f"list({numbers.text})"), taken, reader)
    if taken and (numbers.keys_of is None or "." in numbers.keys_of):  # else a local name, which may be an iterator
        return _taking(loop, numbers, taken, reader)
    place = _applied(loop, index, bound) if all(walk.target is numbers.index for walk in loop.walks) else None
    if place is None:
        return loop
    what = f"`{ast.unparse(place)}`"
    reason = f"the layers are taken by number, and {what} may be beyond the list in some iterations"
    return _stays(loop, place, Problem("SCN208", reason, place))


def _is_used(body: Sequence[ast.AST], name: str) -> bool:
    """Whether a body calls a name, or reads an attribute of it."""
    for node in (each for statement in body for each in nodes_in(statement)):
        used = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
        if isinstance(node, ast.Call | ast.Attribute) and isinstance(used, ast.Name) and used.id == name:
            return True
    return False


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
            how = "which the body changes" if name in bound else "which the head does not count through"
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
    taken.sort(key=lambda each: (not _is_plain(each, numbers), each.name not in _LAYERS))
    gone = {value: statement for each in taken if each.binding for statement, value, _ in [each.binding]}
    changes = [Change(place, each.name) for each in taken for place in each.places.reads if place not in gone]
    body, replaced = rebuilt(loop.module, loop.body, [*changes, *(Change(each, None) for each in gone.values())])
    if not body:
        return loop
    walks = (*numbers.beside, *(_walk(loop, each, numbers) for each in taken))
    first = loop.index.first if loop.index is not None else None
    text = reader.numbers_text(numbers.node, numbers.text)
    index = Index(
        numbers.index, text, first=first, numbers=numbers.node, read=numbers.index.id in flow(body).read_first
    )
    every = tuple(sorted((*replaced, *loop.replaced), key=lambda each: (each.start, each.end)))
    element = body[0].value if loop.element is not None and isinstance(body[0], ast.Expr) else None
    return replace(loop, walks=walks, index=index, body=body, element=element, replaced=every)


def _is_plain(taken: _Taken, numbers: Numbers) -> bool:
    """True if the number is the loop's index as it is."""
    return dotted(taken.places.number) == numbers.index.id


def _walk(loop: Loop, taken: _Taken, numbers: Numbers) -> Walk:
    container, place = taken.places.container, taken.places.reads[0]
    target = made(ast.Name(taken.name, ast.Store()), place)
    text, plain = ast.unparse(container), _is_plain(taken, numbers) and isinstance(place, ast.Subscript)
    if plain and numbers.of == text:
        return Walk(target, container, container, text, text, text, element=place)
    if plain and numbers.keys_of == text:
        func = made(ast.Attribute(container, "values", ast.Load()), place)
        viewed, values = made(ast.Call(func, [], []), place), f"{text}.values()"
        return Walk(target, viewed, container, values, f"list({values})", text, Order.VALUES, "values", element=place)
    every = f"for {numbers.index.id} in {numbers.text}"
    written = code(loop.module, place)
    text = f"[{written if chr(10) not in written else ast.unparse(place)} {every}]"
    number = numbers.text if _is_plain(taken, numbers) else f"[{ast.unparse(taken.places.number)} {every}]"
    source = made(ast.parse(text, mode="eval").body, place)
    return Walk(target, source, container, text, text, text, Order.NUMBERED, element=place, numbers=number)


def _taken(loop: Loop, numbers: Numbers, bound: set[str]) -> Iterator[_Taken]:
    """What the body takes in every iteration, and applies."""
    every: dict[tuple[str, str], Places] = {}
    collect(loop.body, numbers.index.id, bound, every)
    stored = {container for (container, _), places in every.items() if places.stores}
    used: set[str] | None = None
    for (container, number), places in every.items():
        whole = number == numbers.index.id and container in (numbers.of, numbers.keys_of)
        always = whole or any(_is_always_read(loop, place) for place in places.reads)
        if container in stored or not places.reads or not always or not _is_applied(loop, places):
            continue
        binding = _binding(loop, places)
        if binding is not None:
            yield _Taken(places, binding[2], binding)
            continue
        used = _used_names(loop) if used is None else used
        subscript = isinstance(places.reads[0], ast.Subscript)
        name = unused(singular(ast.unparse(places.container)) if subscript else "layer", used)
        used.add(name)
        yield _Taken(places, name, None)


def _binding(loop: Loop, places: Places) -> tuple[ast.stmt, ast.expr, str] | None:
    """The one statement of the body's own level that names what is taken, for all of the iteration."""
    for statement in loop.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if value in places.reads:
                stores = [each for each in mentions(name, *loop.body) if not isinstance(each.ctx, ast.Load)]
                again = any(isinstance(each, ast.arg) and each.arg == name for each in nodes_in(*loop.body))
                alone = len(stores) == 1 and name not in flow(loop.body).read_first
                return (statement, value, name) if alone and not again else None
    return None


def _is_always_read(loop: Loop, place: ast.expr) -> bool:
    """True if no condition and no early end of an iteration keeps a place from being evaluated.

    A lambda that is passed to a call is taken to be called: `jax.vmap(lambda y: self.layers[i](y))(x)`.
    """
    if any(True for _ in exits_of(loop.body)):
        return False
    below: ast.AST = place
    for above in ancestors(loop.module, place):
        if above is loop.node:
            break
        match above:
            case ast.If() | ast.IfExp() | ast.While():
                always = below is above.test
            case ast.For():
                always = below is above.iter
            case ast.BoolOp():
                always = below is above.values[0]
            case ast.Lambda():
                always = isinstance(parent_of(loop.module, above), ast.Call | ast.keyword)
            case _:
                always = not isinstance(above, _LATER) and not (isinstance(above, ast.Compare) and len(above.ops) > 1)
        if not always:
            return False
        below = above
    return True


def _is_applied(loop: Loop, places: Places) -> bool:
    given = (each for part in loop.body for each in nodes_in(part) if isinstance(each, ast.Assign | ast.AnnAssign))
    named = {
        name
        for each in given
        if each.value is not None and _is_made_of(each.value, places)
        for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        for name in target_names(target)
    }
    if any(_is_called(loop, place) for place in places.reads):
        return True
    calls = (each for statement in loop.body for each in nodes_in(statement) if isinstance(each, ast.Call))
    parts = (each for call in calls for each in (call.func, *call.args, *(word.value for word in call.keywords)))
    return bool(named) and any((dotted(each) or "").partition(".")[0] in named for each in parts)


def _is_made_of(value: ast.expr, places: Places) -> bool:
    """True of an element, and of a function or a tuple that is made of one: `jax.checkpoint(self.layers[i])`."""
    if isinstance(value, ast.IfExp):
        return _is_made_of(value.body, places) or _is_made_of(value.orelse, places)
    given = value.args if isinstance(value, ast.Call) else value.elts if isinstance(value, ast.Tuple) else []
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
