"""Lists, tuples and dicts that a loop's body adds to and does not read: what they collect can leave a scan as ys.

Inside of one layer's function the name stands for a fresh empty collection, and what a layer put into it is added to
the outer one after the loop. So nothing may look at the outer one while the loop runs: neither the body nor whoever
else may hold it.
"""

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scanify.analysis.flow.around import path_to
from scanify.analysis.flow.growth import LISTS_OF_PARTS, Growth, How, growths
from scanify.analysis.flow.names import Names, flow, reads
from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import mentions, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.plan import Adds, Collection

_NONE = "None"
_MAKERS = frozenset("list tuple dict".split())
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, eq=False)
class Collected:
    """What a body collects, and why other names that it adds to are none of these.

    `keyed` says that what is collected goes by names or indices that may differ from layer to layer; `obligations` are
    what only a run can show of collections that are the caller's. `values` are the expressions that are collected.
    """

    collections: tuple[Collection, ...] = ()
    problems: tuple[Problem, ...] = ()
    keyed: bool = False
    obligations: tuple[str, ...] = ()
    values: Mapping[str, tuple[ast.expr, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.collections)


def collected(loop: Loop, names: Names, layers: frozenset[str]) -> Collected:
    """The collections of a loop."""
    collections: list[Collection] = []
    problems: list[Problem] = []
    obligations: list[str] = []
    values: dict[str, tuple[ast.expr, ...]] = {}
    keyed = False
    finder = _Finder(loop, layers)
    for name, grown in growths(loop.body).items():
        if name in names.bound and name not in names.read_first:
            continue  # made anew in every iteration
        answer = finder.collection(name, grown)
        if isinstance(answer, str):
            what = f"`{name}` collects a value from every layer, and {answer}"
            ends = (ast.unparse(each) for each in nodes_in(*loop.body) if isinstance(each, ast.Subscript))
            remedy = (
                f"name the last element: `last = {name}[-1]` before the loop, and append `last` in it"
                if f"{name}[-1]" in ends
                else ""
            )
            problems.append(Problem("SCN206", what, grown[0].node, remedy))
        elif answer is not None:
            collections.append(answer)
            values[name] = tuple(value for each in grown for value in each.values)
            keyed = keyed or any(each.key is not None and reads(each.key) for each in grown)
            if finder.of_caller(name):
                obligations.append(f"nothing else reads `{name}`, which is the caller's, while the loop runs")
    return Collected(tuple(collections), tuple(problems), keyed, tuple(obligations), values)


def _asked_if_none(body: Sequence[ast.AST], name: str) -> Iterator[ast.Name]:
    """The places where a body asks if there is a collection: `if caches is not None: caches.append(cache)`."""
    for node in nodes_in(*body):
        match node:
            case ast.Compare(
                left=ast.Name(id=asked) as place, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]
            ) if asked == name:
                yield place


class _Finder:
    """Decides about the names that one loop adds to."""

    def __init__(self, loop: Loop, layers: frozenset[str]) -> None:
        self.loop, self.layers, self.scope = loop, layers, loop.scope
        node = self.scope.node
        self.statements: Sequence[ast.AST] = getattr(node, "body", []) if not isinstance(node, ast.Lambda) else []

    def collection(self, name: str, grown: Sequence[Growth]) -> Collection | str | None:
        """The collection, or why it is none; None where the name is added to as numbers and arrays are."""
        kinds = self._starts(name, grown)
        if isinstance(kinds, str):
            return None if all(each.how is How.PLUS for each in grown) else kinds
        adds = _adds(kinds - {_NONE}, grown)
        if isinstance(adds, str):
            return adds
        own = {place for each in grown for place in each.names} | set(self._walked_by_number(name))
        own |= set(_asked_if_none(self.loop.body, name))
        if any(place not in own for place in self._mentions(name)):
            return f"the loop reads `{name}` too"
        if self._read_before(name):
            return f"something else may hold `{name}` while the loop runs"
        for each in grown:
            what = self._no_array(each)
            if what is not None:
                return f"`{what}` is a function or a module; a scan collects arrays"
        return Collection(name, adds, surely=_NONE not in kinds and name in flow(path_to(self.loop)).definite)

    def of_caller(self, name: str) -> bool:
        """Whether a name may stand for what the caller gave: a parameter that is not certainly assigned before."""
        return name in self.scope.params and name not in flow(path_to(self.loop)).definite

    def _mentions(self, name: str) -> list[ast.Name]:
        return mentions(name, *self.loop.body, *(walk.source for walk in self.loop.walks))

    # -- what the name is before the loop ------------------------------------------------------------------------

    def _starts(self, name: str, grown: Sequence[Growth]) -> set[str] | str:
        """What the name may be when the loop begins, of "list", "tuple", "dict" and "None"; or why it is not known."""
        if isinstance(self.scope.node, ast.Module):
            return "it is a name of the module, which other code can see"
        kinds: set[str] = set()
        if self.of_caller(name):
            if any(each.how is not How.ENTRY for each in grown):
                return "it is the caller's, who may see it while the loop runs"
            kinds.add("list")  # or a dict: entries are stored into either alike
        if name in self.scope.globals:
            return f"something else may hold `{name}` while the loop runs"
        for statement in assignments(self.statements, name):
            if not self._runs_before(statement) or isinstance(statement, ast.AugAssign):
                continue
            if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
                return "it is not shown to be a new list, tuple or dict of this function"
            made = [self._kind(value) for value in value_given(statement, name)]
            if not made or None in made:
                return "it is not shown to be a new list, tuple or dict of this function"
            kinds |= {kind for each in made if each is not None for kind in each}
        return kinds if kinds - {_NONE} else "it is not shown to be a new list, tuple or dict of this function"

    def _kind(self, value: ast.expr) -> set[str] | None:
        """What an expression certainly makes anew; None where that is not known."""
        match value:
            case ast.List() | ast.ListComp():
                return {"list"}
            case ast.Tuple():
                return {"tuple"}
            case ast.Dict() | ast.DictComp():
                return {"dict"}
            case ast.Constant(value=None):
                return {_NONE}
            case ast.Call():
                name = self.scope.builtin(value)
                if self.scope.qualified(value.func) in LISTS_OF_PARTS:
                    return {"list"}
                return {name} if name in _MAKERS and name is not None else None
            case ast.IfExp():
                first, second = self._kind(value.body), self._kind(value.orelse)
                return first | second if first is not None and second is not None else None
            case ast.BinOp(op=ast.Mult()):
                both = (self._kind(value.left), self._kind(value.right))
                return next((each for each in both if each in ({"list"}, {"tuple"})), None)
            case ast.BinOp(op=ast.Add()):
                first, second = self._kind(value.left), self._kind(value.right)
                return first if first == second and first in ({"list"}, {"tuple"}) else None
            case _:
                return None

    # -- who may look at it while the loop runs ------------------------------------------------------------------

    def _read_before(self, name: str) -> bool:
        """Whether anything but the making of a collection and adding to it stands before the loop, or in a loop around.

        A function that reads the name may be called by the body, and another name for the same object be read there.
        Behind the loop, in one around it that makes the collection anew, it is another one, `states = new_states`; but
        not to a function there, which reads the name when it is called.
        """
        own: set[ast.AST] = {place for each in growths(self.statements).get(name, ()) for place in each.names}
        for statement in assignments(self.statements, name):
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            own |= {place for target in targets if target is not None for place in mentions(name, target)}
        places = mentions(name, *self.statements)
        own |= {place for place in places if self._only_looks(place)}
        within = set(mentions(name, self.loop.node))
        others = (place for place in places if place not in own and place not in within)
        return any(self._runs_before(place, name if self._is_read_at_once(place) else "") for place in others)

    def _only_looks(self, use: ast.Name) -> bool:
        """Whether a place outside inner functions reads an element or the length, or asks for None: none keeps it."""
        module = self.loop.module
        if not self._is_read_at_once(use):
            return False
        match parent_of(module, use):
            case ast.Subscript(value=value, slice=index, ctx=ast.Load()):
                return value is use and not isinstance(index, ast.Slice)
            case ast.Call() as call:
                copied = self.scope.builtin(call) in (*_MAKERS, "len")  # a copy keeps the elements alone
                return copied and any(each is use for each in call.args)
            case ast.Starred() as star:
                return isinstance(parent_of(module, star), ast.List | ast.Tuple)
            case ast.Compare(ops=ops):
                return all(isinstance(each, ast.Is | ast.IsNot) for each in ops)
            case _:
                return False

    def _is_read_at_once(self, use: ast.Name) -> bool:
        """Whether a place is outside of inner functions, which read a name later."""
        scopes = (*FUNCTIONS, ast.Lambda, ast.GeneratorExp)
        around = (each for each in ancestors(self.loop.module, use) if isinstance(each, scopes))
        return next(around, None) is self.scope.node

    def _walked_by_number(self, name: str) -> Iterator[ast.Name]:
        """The places in the loop's head that take the elements of a list, all of them, before its first iteration."""
        for walk in self.loop.walks:
            if walk.element is not None or walk.source is not walk.base:
                yield from mentions(name, walk.source)
            elif isinstance(walk.base, ast.Name) and walk.base.id == name and self.loop.replaced:
                yield walk.base

    def _runs_before(self, node: ast.AST, name: str = "") -> bool:
        """Whether code may run before the loop: it stands above it, or in a loop around it.

        Where each turn of that one makes what `name` stands for anew, what stands behind the loop saw another.
        """
        module, loop = self.loop.module, self.loop.node
        if module.span(node).start < module.span(loop).start:
            return True
        above = list(ancestors(module, node))
        if any(each is loop for each in above):
            return False
        for around in ancestors(module, loop):
            if isinstance(around, (*FUNCTIONS, ast.ClassDef)):
                return False
            if isinstance(around, _LOOPS) and any(each is around for each in above):
                return not (name and self._made_anew(name, around))
        return False

    def _made_anew(self, name: str, around: ast.AST) -> bool:
        """Whether each turn of a loop around this one makes a new collection before it comes here."""
        path = [self.loop.node, *ancestors(self.loop.module, self.loop.node)]
        for below, above in itertools.pairwise(path):
            blocks = [getattr(above, each, []) for each in ("body", "orelse", "handlers", "finalbody")]
            block = next((each for each in blocks if isinstance(each, list) and below in each), [])
            for statement in block[: block.index(below)] if below in block else ():
                made = [self._kind(value) for value in value_given(statement, name)]
                if isinstance(statement, ast.Assign | ast.AnnAssign) and made and None not in made:
                    return True
            if above is around:
                break
        return False

    # -- what is collected ---------------------------------------------------------------------------------------

    def _no_array(self, growth: Growth) -> str | None:
        """What is collected and is a function, a layer, or a module made of one: the body calls it."""
        for value in growth.values:
            if isinstance(value, ast.Lambda) or (isinstance(value, ast.GeneratorExp) and not _is_drawn(growth, value)):
                return self.loop.code(value)
        names = {name for value in growth.values if (name := dotted(value)) is not None}
        called_here = {dotted(each) for statement in self.loop.body for each in _called(statement)}
        return next((name for name in names if name in self.layers or name in called_here), None)


def _is_drawn(growth: Growth, value: ast.expr) -> bool:
    """Whether what is added is all that a generator gives: `outs.extend(f(y) for y in ys)`."""
    match growth.node:
        case ast.Expr(ast.Call(ast.Attribute(attr="extend"), args=[given])) | ast.AugAssign(value=given):
            return given is value
        case _:
            return False


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


def _called(node: ast.AST) -> Iterator[ast.expr]:
    """What is called, and what is given to a call whose result is called: `layer` of `jax.vmap(layer)(x)`."""
    for each in nodes_in(node):
        if isinstance(each, ast.Call):
            yield each.func
            if isinstance(each.func, ast.Call):
                yield from each.func.args
