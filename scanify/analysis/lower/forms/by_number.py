"""Loops that take layers by number, `for i in range(n): x = self.layers[i](x)`, read as loops over the elements.

The loop iterates over the elements at those numbers, `[self.layers[i] for i in range(n)]`, or over the list itself if
it takes all of its numbers. So too short a list raises as before, and a longer one is not read further. An element
that only some iterations read is not moved, because its number may exceed the list in the others.

The same holds for attributes with a number in their name: `getattr(self, f"layer{i}")`.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from scanify.analysis.flow.exits import exits_of
from scanify.analysis.flow.names import flow, reads
from scanify.analysis.lower.forms.rebuild import Change, rebuilt, stands_alone
from scanify.analysis.lower.head import Head, HeadReader
from scanify.analysis.lower.loop import Index, Loop, Order, Problem, Walk
from scanify.analysis.lower.nodes import children, mentions, names_in, nodes_in
from scanify.analysis.lower.scope import COMPREHENSIONS, FUNCTIONS, ancestors, parameters, parent_of
from scanify.analysis.lower.text import (
    arithmetic,
    code,
    container_text,
    dotted,
    label,
    made,
    only_argument,
    pure,
    singular,
    unused,
)

_WALK_LIST = "iterate over the list itself: `for layer in self.layers`"
_LATER = (*FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS, ast.Try, ast.TryStar, ast.Match, ast.Assert)


def by_number(loop: Loop, head: Head, reader: HeadReader) -> Loop:
    """Return the loop with elements taken by number as walks, or with a problem that prevents a scan."""
    if loop.problem is not None or not any(isinstance(each, ast.Subscript | ast.Call) for each in nodes_in(*loop.body)):
        return loop
    numbers = _numbers(reader, head)
    if numbers is not None and numbers.index.id not in _bound_in(loop):
        always = set() if any(True for _ in exits_of(loop.body)) else set(_always(loop.body))
        whole = (numbers.of, numbers.index.id)
        found = _elements(loop, numbers.index.id, _bound_in(loop))
        taken = [each for each in found if each.key == whole or not always.isdisjoint(each.reads)]
        if any(each.called or not numbers.beside for each in taken):
            return _taking(loop, numbers, taken, reader)
    if len(loop.walks) + (loop.index is not None) > 1:
        return loop
    bound = flow(loop.body).bound
    for name in loop.targets if loop.walks else dict.fromkeys((*loop.targets, *bound)):
        element = None if loop.walks and _is_object(loop, name) else next(iter(_elements(loop, name, set())), None)
        if element is not None:
            how = "which the body changes" if name in bound else "which the head does not count through"
            reason, remedy = f"the layers are taken by `{name}`, {how}", _WALK_LIST
            if numbers is not None and name == numbers.index.id and name not in bound:
                reason, remedy = f"`{ast.unparse(element.reads[0])}` is read in some iterations only", ""
            return _left(loop, element, Problem("SCN208", reason, element.reads[0], remedy))
    return loop


def _is_object(loop: Loop, name: str) -> bool:
    """True if a body calls a name or reads an attribute of it, so that it is not a number."""
    nodes = [each for each in nodes_in(*loop.body) if isinstance(each, ast.Call | ast.Attribute)]
    used = [each.func if isinstance(each, ast.Call) else each.value for each in nodes]
    return any(isinstance(each, ast.Name) and each.id == name for each in used)


# -- the numbers of a head ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The numbers that `index` runs through, as an expression that has the same value whenever it is evaluated.

    `of` is the list that they number from 0 to its length; `beside` are the other walks of the head.
    """

    index: ast.Name
    node: ast.expr
    text: str
    of: str | None = None
    beside: tuple[Walk, ...] = ()


def _numbers(reader: HeadReader, head: Head) -> _Numbers | None:
    """Return the numbers of `range(n)`, `reversed(range(n))`, `(0, 2)`, `enumerate(keys)` or `zip(range(n), keys)`."""
    index, walks = head.index, head.walks
    if index is None and len(walks) == 1:
        index, walks = Index(walks[0].target, numbers=walks[0].source), ()
    if index is None or not isinstance(index.target, ast.Name):
        return None
    node, of = index.numbers, None
    if node is None:
        measured = next((each for walk in walks if (each := _measured(reader, walk.source)) is not None), None)
        if measured is None or not pure(index.first):
            return None
        count, first = f"len({reader.text(measured)})", ast.unparse(index.first) if index.first is not None else ""
        text = f"range({first}, {first} + {count})" if first else f"range({count})"
        node = made(ast.parse(text, mode="eval").body, index.target)
    if not _are_numbers(reader, node):
        return None
    match node:
        case ast.Call(ast.Name("range") as func, [ast.Constant(0), last]):
            node = made(ast.Call(func, [last], []), node)
    match node:
        case ast.Call(ast.Name("range"), [ast.Call(ast.Name("len")) as length]):
            of = container_text(only_argument(length))
    return _Numbers(index.target, node, reader.text(node), of, walks)


def _are_numbers(reader: HeadReader, node: ast.expr) -> bool:
    match node:
        case ast.Call(keywords=[], args=args) if reader.builtin(node) == "range":
            return bool(args) and all(map(pure, args)) and reader.calls_builtins(node)
        case ast.Call() if reader.builtin(node) == "reversed":
            inner = only_argument(node)
            return inner is not None and _are_numbers(reader, inner)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return all(isinstance(each, ast.Constant) and isinstance(each.value, int | str) for each in elements)
        case _:
            return False


def _measured(reader: HeadReader, node: ast.expr) -> ast.expr | None:
    """Return the list with the length of a source, if its length is the same whenever it is evaluated."""
    match node:
        case ast.Call() if reader.builtin(node) in ("reversed", "list", "tuple"):
            inner = only_argument(node)
            return _measured(reader, inner) if inner is not None else None
        case ast.Subscript(value, ast.Slice(lower, upper, step)):
            return node if dotted(value) is not None and all(map(pure, (lower, upper, step))) else None
        case _:
            return node if dotted(node) is not None else None


# -- elements that a body takes by number ------------------------------------------------------------------------------


@dataclass(eq=False)
class _Element:
    """The places where a body reads one element; `called`: it calls the element, or assigns it to a name."""

    container: ast.expr
    number: ast.expr
    key: tuple[str, str]
    reads: list[ast.expr] = field(default_factory=list)
    called: bool = False


def _elements(loop: Loop, index: str, bound: set[str]) -> list[_Element]:
    """Return applied elements whose number depends on an index and nothing `bound`, in unchanged containers."""
    found: dict[tuple[str, str], _Element] = {}
    applied: set[tuple[str, str]] = set()
    nodes = nodes_in(*loop.body)
    for node in nodes:
        match node:
            case ast.Subscript(owner, number, ast.Load()) if arithmetic(number) or label(number):
                text = container_text(owner)
            case ast.Call(ast.Name("getattr"), [owner, number], []) if label(number) and dotted(owner) is not None:
                text = f"{dotted(owner)}."
            case _:
                continue
        names = set(reads(number))
        free = not names & bound and not set(reads(owner)) & {*bound, index}
        if text is None or not free or index not in names:
            continue
        known = found.setdefault((text, key := ast.unparse(number)), _Element(owner, number, (text, key)))
        known.reads.append(node)
        use = _use(loop, node)
        known.called = known.called or use == "called"
        applied |= {known.key} if use else set()
    stored = {
        ast.unparse(part.value)
        for each in nodes
        if isinstance(each, ast.Subscript | ast.Attribute) and not isinstance(each.ctx, ast.Load)
        for part in _chain(each)
    }
    return [each for key, each in found.items() if key in applied and key[0] not in stored]


def _chain(node: ast.AST) -> Iterator[ast.Subscript | ast.Attribute]:
    """Yield a target and the targets that it is part of: `self.layers[i].weight`, `self.layers[i]`, `self.layers`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        yield node
        node = node.value


def _bound_in(loop: Loop) -> set[str]:
    """Return the names that a body and the functions in it bind."""
    nodes = nodes_in(*loop.body)
    named = {each.id for each in nodes if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    return named | {each.arg for each in nodes if isinstance(each, ast.arg)} | set(flow(loop.body).bound)


def _always(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes that every iteration evaluates."""
    for node in nodes:
        yield node
        match node:
            case ast.If() | ast.IfExp() | ast.While():
                yield from _always([node.test])
            case ast.For():
                yield from _always([node.iter])
            case ast.BoolOp():
                yield from _always(node.values[:1])
            case _ if not isinstance(node, _LATER) and not (isinstance(node, ast.Compare) and len(node.ops) > 1):
                yield from _always(children(node))


def _use(loop: Loop, place: ast.AST) -> str:
    """Return "called" if the element or a part of it is called, named or iterated over, "passed" if a call gets it."""
    above = parent_of(loop.module, place)
    while isinstance(above, ast.Attribute | ast.Subscript | ast.NamedExpr | ast.IfExp | ast.Tuple | ast.keyword):
        place, above = above, parent_of(loop.module, above)
    match above:
        case ast.For() | ast.comprehension():
            return "called" if above.iter is place else ""
        case ast.Call():
            around, alone = parent_of(loop.module, above), only_argument(above) is place
            named = isinstance(around, ast.Assign) and alone  # `f = jax.checkpoint(self.layers[i])`
            called = above.func is place or named or (isinstance(around, ast.Call) and around.func is above)
            return "called" if called else "passed"
        case _:
            return "called" if isinstance(above, ast.Assign | ast.AnnAssign) else ""


# -- loop over the elements --------------------------------------------------------------------------------------------


def _taking(loop: Loop, numbers: _Numbers, taken: list[_Element], reader: HeadReader) -> Loop:
    names: list[str] = []
    changes: list[Change] = []
    taken.sort(key=lambda each: each.key[1] != numbers.index.id)
    for each in taken:
        binding = _binding(loop, each)
        names.append(binding[1] if binding is not None else _name(loop, each, names))
        changes += [Change(binding[0], None)] if binding is not None else []
        given = binding[0].value if binding is not None else None
        changes += [Change(place, names[-1]) for place in each.reads if place is not given]
    body, replaced = rebuilt(loop.module, loop.body, changes)
    walks = tuple(_walk(loop, each, name, numbers) for each, name in zip(taken, names, strict=True))
    read = numbers.index.id in flow(body).read_first
    text = reader.numbers_text(numbers.node, numbers.text)
    first = loop.index.first if loop.index is not None else None
    index = Index(numbers.index, text, first=first, numbers=numbers.node, read=read)
    element = body[0].value if loop.element is not None and isinstance(body[0], ast.Expr) else None
    return replace(loop, walks=(*numbers.beside, *walks), index=index, body=body, element=element, replaced=replaced)


def _binding(loop: Loop, taken: _Element) -> tuple[ast.Assign | ast.AnnAssign, str] | None:
    """Return the statement `layer = self.layers[i]` and its name, which is neither read before nor bound again."""
    for statement in loop.body[:-1]:
        match statement:
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)) if statement.value in taken.reads:
                bound = [each for each in mentions(name, *loop.body) if not isinstance(each.ctx, ast.Load)]
                again = any(isinstance(each, ast.arg) and each.arg == name for each in nodes_in(*loop.body))
                known = len(bound) == 1 and not again and name not in flow(loop.body).read_first
                return (statement, name) if known and stands_alone(loop.module, statement) else None
    return None


def _name(loop: Loop, taken: _Element, others: list[str]) -> str:
    """Return a name for an element that is unused in the outermost function."""
    functions = [each for each in ancestors(loop.module, loop.node) if isinstance(each, FUNCTIONS)]
    around = functions[-1] if functions else loop.module.tree
    used = {*names_in([around]), *(arg.arg for each in nodes_in(around) for arg in parameters(each)), *others}
    attribute = taken.key[0].endswith(".")
    return unused("layer" if attribute else singular(taken.key[0], "" if taken.called else "this_"), used)


def _walk(loop: Loop, taken: _Element, name: str, numbers: _Numbers | None) -> Walk:
    """Return the walk of an element; without `numbers`, over the whole list."""
    container, place = taken.container, taken.reads[0]
    target, text = made(ast.Name(name, ast.Store()), place), code(loop.module, container)
    if numbers is None:
        return Walk(target, container, container, text, text, text, Order.NUMBERED, element=place)
    index = numbers.index.id
    if taken.key == (numbers.of, index):
        return Walk(target, container, container, text, text, text, element=place)
    written = code(loop.module, place)
    text = f"[{written if chr(10) not in written else ast.unparse(place)} for {index} in {numbers.text}]"
    counted = numbers.text if taken.key[1] == index else f"[{taken.key[1]} for {index} in {numbers.text}]"
    source = made(ast.parse(text, mode="eval").body, place)
    return Walk(target, source, container, text, text, text, Order.NUMBERED, element=place, numbers=counted)


def _left(loop: Loop, taken: _Element, problem: Problem) -> Loop:
    """Return a refused loop over the whole list, where one place in the body represents each element."""
    name = _name(loop, taken, [])
    body, replaced = rebuilt(loop.module, loop.body, [Change(taken.reads[0], name)])
    return replace(loop, walks=(_walk(loop, taken, name, None),), body=body, replaced=replaced, problem=problem)
