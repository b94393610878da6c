"""Loops that take layers by number, `for i in range(n): x = self.layers[i](x)`, as loops over what they take.

The list is walked by the very numbers, `[self.layers[i] for i in range(n)]`, unless these are all numbers of the list
itself: a list that is too short is the error that it was, and a longer one is not walked to its end. An element that is
taken only under a condition stays where it is, because an iteration that does not read it may be beyond the list.

The same holds for attributes whose name has a number in it: `getattr(self, f"layer{i}")`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from scanify.analysis.flow.exits import exits_of
from scanify.analysis.flow.names import flow, reads
from scanify.analysis.index.module import Module
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

_WALK_LIST = "walk the list itself: `for layer in self.layers`"
_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)
_LATER = (*_SCOPES, ast.Try, ast.TryStar, ast.Match, ast.Assert)


def by_number(loop: Loop, head: Head, reader: HeadReader) -> Loop:
    """The loop with what it takes by number as walks of their own; with a problem if a scan cannot take it so."""
    if loop.problem is not None or not any(isinstance(each, ast.Subscript | ast.Call) for each in nodes_in(*loop.body)):
        return loop
    numbers, bound = _numbers(reader, head), flow(loop.body).bound
    if numbers is not None and numbers.index.id not in bound:
        found = _Elements(loop, numbers.index.id, frozenset(bound))
        whole = (numbers.of, numbers.index.id)
        surely = not any(True for _ in exits_of(loop.body))
        taken = [each for each in found.read() if each.key == whole or (each.always and surely)]
        if any(each.called or not numbers.beside for each in taken):
            return _taking(loop, numbers, taken, reader)
    if len(loop.walks) + (loop.index is not None) > 1:
        return loop
    for name in loop.targets if loop.walks else dict.fromkeys((*loop.targets, *bound)):
        place = None if loop.walks and _is_object(loop, name) else next(_Elements(loop, name).read(), None)
        if place is not None:
            counted = numbers is not None and name == numbers.index.id
            how = "which the body changes" if name in bound else "which the head does not count through"
            reason = f"the layers are taken by the number `{name}`, {how}"
            if counted and name not in bound:
                what = ast.unparse(place.reads[0])
                reason = f"the layers are taken by number, and `{what}` may be beyond the list in some iterations"
            return _left(loop, place, Problem("SCN208", reason, place.reads[0], "" if counted else _WALK_LIST))
    return loop


def _is_object(loop: Loop, name: str) -> bool:
    """True if a body calls a name or reads an attribute of it: then it is no number."""
    used = (
        each.func if isinstance(each, ast.Call) else getattr(each, "value", None)
        for each in nodes_in(*loop.body)
        if isinstance(each, ast.Call | ast.Attribute)
    )
    return any(isinstance(each, ast.Name) and each.id == name for each in used)


# -- the numbers of a head ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The numbers that a loop counts through as `index`, by an expression that gives them whenever it is evaluated.

    `of` is the list whose own numbers they are, from 0 to its length; `beside` are the other walks of the head.
    """

    index: ast.Name
    node: ast.expr
    text: str
    of: str | None = None
    beside: tuple[Walk, ...] = ()


def _numbers(reader: HeadReader, head: Head) -> _Numbers | None:
    """The numbers of `range(n)`, `reversed(range(n))`, `(0, 2)`, `enumerate(keys)` and `zip(range(n), keys)`."""
    index = head.index
    if index is None and len(head.walks) == 1 and isinstance(head.walks[0].target, ast.Name):
        return _counted(reader, head.walks[0].target, head.walks[0].source, ())
    if index is None or not isinstance(index.target, ast.Name):
        return None
    if index.numbers is not None:
        return _counted(reader, index.target, index.numbers, head.walks)
    measured = next((each for walk in head.walks if (each := _measured(reader, walk.source)) is not None), None)
    if measured is None or not pure(index.first):
        return None
    count, first = f"len({reader.text(measured)})", ast.unparse(index.first) if index.first is not None else ""
    text = f"range({first}, {first} + {count})" if first else f"range({count})"
    node = made(ast.parse(text, mode="eval").body, index.target)
    return _Numbers(index.target, node, text, None if first else container_text(measured), head.walks)


def _counted(reader: HeadReader, index: ast.Name, node: ast.expr, beside: tuple[Walk, ...]) -> _Numbers | None:
    match node:
        case ast.Call(func=func, args=[ast.Constant(value=0), last]) if reader.builtin(node) == "range":
            node = made(ast.Call(func, [last], []), node)
    of = None
    match node:
        case ast.Call(args=[ast.Call() as length]) if reader.builtin(node) == "range":
            inner = only_argument(length) if reader.builtin(length) == "len" else None
            of = container_text(inner) if inner is not None else None
    return _Numbers(index, node, reader.text(node), of, beside) if _are_numbers(reader, node) else None


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
    """The list of which a source has as many elements, if its length is the same whenever it is evaluated."""
    match node:
        case ast.Call() if reader.builtin(node) in ("reversed", "list", "tuple"):
            inner = only_argument(node)
            return _measured(reader, inner) if inner is not None else None
        case ast.Subscript(slice=ast.Slice(lower, upper, step)):
            return node if dotted(node.value) is not None and all(map(pure, (lower, upper, step))) else None
        case _:
            return node if dotted(node) is not None else None


# -- what a body takes by them -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Element:
    """The places where a body reads one element.

    `always`: each iteration evaluates one of them; `called`: the body calls the element, or gives it a name.
    """

    container: ast.expr
    number: ast.expr
    key: tuple[str, str]
    reads: list[ast.expr] = field(default_factory=list)
    always: bool = False
    called: bool = False


class _Elements:
    """The elements in the body of a loop whose number depends on `index`, and on nothing that is `bound`."""

    def __init__(self, loop: Loop, index: str, bound: frozenset[str] = frozenset()) -> None:
        self._module, self._index = loop.module, index
        self._found: dict[tuple[str, str], _Element] = {}
        self._stored: set[str] = set()
        for statement in loop.body:
            self._visit(statement, bound, always=True)

    def read(self) -> Iterator[_Element]:
        """The elements that the body applies, and of whose container it changes none."""
        for each in self._found.values():
            each.called = any(_is_applied(self._module, place) for place in each.reads)
            passed = any(_is_applied(self._module, place, passed=True) for place in each.reads)
            if each.key[0] not in self._stored and passed:
                yield each

    def _visit(self, node: ast.AST, bound: frozenset[str], *, always: bool) -> None:
        if isinstance(node, _SCOPES):
            bound |= _own_names(node)
            if self._index in bound:
                return  # the scope has an index of its own
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self._stored |= {ast.unparse(each.value) for each in _chain(node)}
        element = self._element(node, bound)
        if element is not None and isinstance(node, ast.expr):
            known = self._found.setdefault(element.key, element)
            known.reads.append(node)
            known.always = known.always or always
            return
        for child in children(node):
            self._visit(child, bound, always=always and _runs(node, child))

    def _element(self, node: ast.AST, bound: frozenset[str]) -> _Element | None:
        match node:
            case ast.Subscript(value=owner, slice=number, ctx=ast.Load()) if arithmetic(number) or label(number):
                text = container_text(owner)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, number], keywords=[]) if label(number):
                text = f"{dotted(owner)}." if dotted(owner) is not None else None
            case _:
                return None
        names = set(reads(number))
        if text is None or self._index not in names or names & bound - {self._index}:
            return None
        own = not (set(reads(owner)) & (bound | {self._index}))
        return _Element(owner, number, (text, ast.unparse(number))) if own else None


def _chain(node: ast.AST) -> Iterator[ast.Subscript | ast.Attribute]:
    """A target with the targets that it is a part of: `self.layers[i].weight`, `self.layers[i]`, `self.layers`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        yield node
        node = node.value


def _own_names(node: ast.AST) -> frozenset[str]:
    """The names that a scope binds for itself, at whatever depth."""
    bound = {each.id for each in nodes_in(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return frozenset(bound | {arg.arg for each in nodes_in(node) for arg in parameters(each)})


def _runs(node: ast.AST, part: ast.AST) -> bool:
    """True if a part of a node is evaluated whenever the node is."""
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            return part is node.test
        case ast.For():
            return part is node.iter
        case ast.BoolOp():
            return part is node.values[0]
        case _:
            return not isinstance(node, _LATER) and not (isinstance(node, ast.Compare) and len(node.ops) > 1)


def _is_applied(module: Module, place: ast.AST, *, passed: bool = False) -> bool:
    """True if an element, a part of it or a function of it is called, named, or walked by a loop inside.

    With `passed` also if it is passed to a call: `apply(self.layers[i], x)`.
    """
    above = parent_of(module, place)
    while isinstance(above, ast.Attribute | ast.Subscript | ast.NamedExpr | ast.IfExp | ast.Tuple | ast.keyword):
        place, above = above, parent_of(module, above)
    match above:
        case ast.For() | ast.comprehension():
            return above.iter is place
        case ast.Call():
            around, alone = parent_of(module, above), only_argument(above) is place
            made = isinstance(around, ast.Assign) and alone  # `f = jax.checkpoint(self.layers[i])`
            return passed or above.func is place or made or (isinstance(around, ast.Call) and around.func is above)
        case _:
            return isinstance(above, ast.Assign | ast.AnnAssign)


# -- the loop over it --------------------------------------------------------------------------------------------------


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
    """The first statement of the body, if it is `layer = self.layers[i]`, with the name, which nothing binds again."""
    for statement in loop.body[:-1]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                statement.value in taken.reads
            ):
                bound = [each for each in mentions(name, *loop.body) if not isinstance(each.ctx, ast.Load)]
                again = any(arg.arg == name for each in nodes_in(*loop.body) for arg in parameters(each))
                first = name not in flow(loop.body).read_first
                known = len(bound) == 1 and first and not again and stands_alone(loop.module, statement)
                return (statement, name) if known else None
    return None


def _name(loop: Loop, taken: _Element, others: list[str]) -> str:
    """A name for what is taken, which nothing in the outermost function has."""
    functions = [each for each in ancestors(loop.module, loop.node) if isinstance(each, FUNCTIONS)]
    around = functions[-1] if functions else loop.module.tree
    used = {*names_in([around]), *(arg.arg for each in nodes_in(around) for arg in parameters(each)), *others}
    return unused(
        "layer" if taken.key[0].endswith(".") else singular(taken.key[0], "" if taken.called else "this_"), used
    )


def _walk(loop: Loop, taken: _Element, name: str, numbers: _Numbers) -> Walk:
    container, place = taken.container, taken.reads[0]
    target, index = made(ast.Name(name, ast.Store()), place), numbers.index.id
    if taken.key == (numbers.of, index):
        text = taken.key[0]
        return Walk(target, container, container, text, text, text, element=place)
    written = code(loop.module, place)
    text = f"[{written if chr(10) not in written else ast.unparse(place)} for {index} in {numbers.text}]"
    counted = numbers.text if taken.key[1] == index else f"[{taken.key[1]} for {index} in {numbers.text}]"
    source = made(ast.parse(text, mode="eval").body, place)
    return Walk(target, source, container, text, text, text, Order.NUMBERED, element=place, numbers=counted)


def _left(loop: Loop, taken: _Element, problem: Problem) -> Loop:
    """The loop as one over all of the list, of whose elements one place in its body stands for each."""
    name, place = _name(loop, taken, []), taken.reads[0]
    body, replaced = rebuilt(loop.module, loop.body, [Change(place, name)])
    text = code(loop.module, taken.container)
    target = made(ast.Name(name, ast.Store()), place)
    walk = Walk(target, taken.container, taken.container, text, text, text, Order.NUMBERED, element=place)
    return replace(loop, walks=(walk,), body=body, replaced=replaced, problem=problem)
