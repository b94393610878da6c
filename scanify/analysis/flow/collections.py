"""Lists, tuples and dicts that a loop's body adds to and does not read: what they collect can leave a scan as ys.

Inside of one layer's function the name stands for a new empty collection, and what a layer put into it is added to the
outer one after the loop. So nothing may look at the outer one while the loop runs: from where the function makes it to
the end of the loop, code only adds to it or asks if there is one.
"""

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from scanify.analysis.flow.around import LOOPS, path_to, statements_around
from scanify.analysis.flow.growth import Growth, How, growths
from scanify.analysis.flow.names import Names, flow, reads
from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.lower.bound import bound_by
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import mentions, nodes_in
from scanify.analysis.plan import Adds, Collection

_NONE = "None"
_MAKERS = frozenset("list tuple dict".split())
_NOT_NEW = "it is not shown to be a new list, tuple or dict of this function"


@dataclass(frozen=True, eq=False)
class Collected:
    """What a body collects, and why other names that it adds to are none of these.

    `keyed`: what is collected goes by names or indices that may differ from layer to layer. `values` are the
    expressions that are collected.
    """

    collections: tuple[Collection, ...] = ()
    problems: tuple[Problem, ...] = ()
    keyed: bool = False
    values: Mapping[str, tuple[ast.expr, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.collections)


def collected(loop: Loop, names: Names, layers: frozenset[str]) -> Collected:
    """The collections of a loop."""
    collections: list[Collection] = []
    problems: list[Problem] = []
    values: dict[str, tuple[ast.expr, ...]] = {}
    keyed = False
    for name, grown in growths(loop.body).items():
        if name in names.bound and name not in names.read_first:
            continue  # made anew in every iteration
        answer = _collection(loop, name, grown, layers)
        if isinstance(answer, str):
            ends = (ast.unparse(each) for each in nodes_in(*loop.body) if isinstance(each, ast.Subscript))
            last = f"name the last element: `last = {name}[-1]` before the loop, and append `last` in it"
            what = f"`{name}` collects a value from every layer, and {answer}"
            problems.append(Problem("SCN206", what, grown[0].node, last if f"{name}[-1]" in ends else ""))
        elif answer is not None:
            collections.append(answer)
            values[name] = tuple(value for each in grown for value in each.values)
            keyed = keyed or any(each.key is not None and reads(each.key) for each in grown)
    return Collected(tuple(collections), tuple(problems), keyed, values)


def _collection(loop: Loop, name: str, grown: Sequence[Growth], layers: frozenset[str]) -> Collection | str | None:
    """The collection, or why it is none; None if the name is added to as numbers and arrays are."""
    made = _Made(loop, name)
    if not made.kinds - {_NONE}:
        return None if all(each.how is How.PLUS for each in grown) else _NOT_NEW
    adds = _adds(made.kinds - {_NONE}, grown)
    if isinstance(adds, str):
        return adds
    added = {place for each in grown for place in each.names} | set(_asked_if_none(name, *loop.body))
    walked = (walk.source for walk in loop.walks if walk.element is None)
    if any(place not in added for place in mentions(name, *loop.body, *walked)):
        return f"the loop reads `{name}` too"
    if made.is_read:
        return f"something else may hold `{name}` while the loop runs"
    layer = next(
        (each.id for one in grown for each in one.values if isinstance(each, ast.Name) and each.id in layers), ""
    )
    if layer:
        return f"`{layer}` is a layer; a scan collects arrays"
    return Collection(name, adds, surely=_NONE not in made.kinds and made.surely)


class _Made:
    """How the function makes what a name stands for in a loop.

    `kinds` are what it may be, of "list", "tuple", "dict" and "None", empty if that is not shown; `surely`: it has a
    value whatever happens before. `is_read`: code between its making and the end of the loop may look at it.
    """

    def __init__(self, loop: Loop, name: str) -> None:
        self.loop, self.name = loop, name
        self.kinds: set[str] = set()
        self.surely = False
        self.is_read = False
        path, since = path_to(loop), []
        if loop.scope.parent is None or name in {*loop.scope.globals, *loop.scope.nonlocals}:
            return
        while path and not self.surely:
            statement = path.pop()
            given = assignments([statement], name)
            if not all(map(self._add, given)):
                self.kinds = set()
                return
            since.append(statement)
            self.surely = name in flow([statement]).definite and bool(given)
        if not self.surely and name in loop.scope.params:
            self.kinds = set()  # it may be the caller's
        made = since[-1] if since else None
        around = list(itertools.takewhile(lambda each: made not in nodes_in(each), statements_around(loop)))
        if any(self._is_bound_again(each, since) for each in around):
            self.kinds = set()
        loops = [each for each in around if isinstance(each, LOOPS)]
        self.is_read = any(self._looks(each) for each in (*since, *loops[-1:]))

    def _is_bound_again(self, around: ast.AST, since: Sequence[ast.AST]) -> bool:
        """True if a statement around the loop binds the name, or code in a loop around that may come before."""
        bound = assignments([around], self.name) if isinstance(around, LOOPS) else []
        bound += [around] if self.name in bound_by(around) else []
        known = [*assignments(since, self.name), *assignments([self.loop.node], self.name)]
        return any(each not in known and not isinstance(each, ast.AugAssign) for each in bound)

    def _add(self, statement: ast.AST) -> bool:
        """Add what a statement makes of the name; False if that is not shown."""
        if isinstance(statement, ast.AugAssign):
            return True
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement]
        kinds = [self._kind(value) for value in value_given(statement, self.name)]
        self.kinds |= {kind for each in kinds for kind in each}
        return len(targets) == 1 and bool(kinds) and all(kinds)

    def _kind(self, value: ast.expr) -> set[str]:
        """What an expression makes anew; empty if that is not known."""
        match value:
            case ast.List() | ast.ListComp() | ast.BinOp(left=ast.List(), op=ast.Mult()):
                return {"list"}
            case ast.Tuple():
                return {"tuple"}
            case ast.Dict() | ast.DictComp():
                return {"dict"}
            case ast.Constant(value=None):
                return {_NONE}
            case ast.Call():
                return {self.loop.scope.builtin(value) or ""} & _MAKERS
            case ast.IfExp():
                first, second = self._kind(value.body), self._kind(value.orelse)
                return first | second if first and second else set()
            case _:
                return set()

    def _looks(self, statement: ast.AST) -> bool:
        """True if a statement does more with the collection than make it, add to it and ask if there is one."""
        own = {place for each in growths([statement]).get(self.name, ()) for place in each.names}
        own |= {*_asked_if_none(self.name, statement), *mentions(self.name, self.loop.node)}
        own |= {each.value for each in nodes_in(statement) if _is_element(each) and isinstance(each.value, ast.Name)}
        return any(each not in own and isinstance(each.ctx, ast.Load) for each in mentions(self.name, statement))


def _asked_if_none(name: str, *nodes: ast.AST) -> Iterator[ast.Name]:
    """The places where code asks if there is a collection: `if caches is not None: caches.append(cache)`."""
    for node in nodes_in(*nodes):
        match node:
            case ast.Compare(ast.Name(id=asked) as place, [ast.Is() | ast.IsNot()], [ast.Constant(value=None)]):
                if asked == name:
                    yield place


def _is_element(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """True of `outs[-1]`, which keeps nothing of the list itself."""
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice)


def _adds(kinds: set[str], grown: Sequence[Growth]) -> Adds | str:
    how = {each.how for each in grown}
    if kinds == {"list"} and how == {How.ENTRY}:
        # 3 and -1 may be one place, where the last one stored is what counts: a dict does not say which that was.
        once = len(grown) == 1 and not grown[0].repeated
        return Adds.ENTRIES if once else "one iteration may store at several indices"
    if kinds == {"list"} and How.ENTRY not in how:
        return Adds.LIST
    if kinds == {"tuple"} and how == {How.PLUS}:
        return Adds.TUPLE
    if kinds == {"dict"} and how == {How.ENTRY}:
        return Adds.DICT
    return "the body adds to it as to another kind of container"
