"""Lists, tuples and dicts that a loop's body adds to and does not read: a scan can return the added values as ys.

In the function of one layer the name is a new empty collection, whose contents are added to the outer one after the
loop. So no code may read the outer one while the loop runs: from its creation to the end of the loop, code only adds
to it or compares it with None.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from scanify.analysis.flow.around import LOOPS, path_to, statements_around
from scanify.analysis.flow.names import Names, flow, reads
from scanify.analysis.flow.statements import assignments, statements_in, value_given
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import mentions, nodes_in
from scanify.analysis.lower.scope import scope_of
from scanify.analysis.plan import Adds, Collection

_NONE = "None"
_MAKERS = frozenset("list tuple dict".split())
_OTHER_KIND = "the body adds to it as to another kind of container"
_NOT_NEW = "it is not shown to be a new list, tuple or dict of this function"
# Ways to add to each kind of collection.
_ADDS = {"list": (Adds.LIST, {"method", "plus"}), "tuple": (Adds.TUPLE, {"plus"}), "dict": (Adds.DICT, {"key"})}


@dataclass(frozen=True, eq=False)
class Growth:
    """One statement that adds to a collection, by a "method", by "plus" or by a "key".

    `names` are the places of the collection's name in it, `values` the expressions that are added.
    """

    how: str
    node: ast.stmt | ast.expr
    names: tuple[ast.Name, ...]
    values: tuple[ast.expr, ...]
    key: ast.expr | None = None


@dataclass(frozen=True, eq=False)
class Collected:
    """The collections of a body, and problems with other names that it adds to.

    `keyed`: the keys of a collection may differ by layer. `values` are the expressions that are collected.
    """

    collections: tuple[Collection, ...] = ()
    problems: tuple[Problem, ...] = ()
    keyed: bool = False
    values: Mapping[str, tuple[ast.expr, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.collections)


def collected(loop: Loop, names: Names, layers: frozenset[str]) -> Collected:
    """Return the collections of a loop; for one that yields the elements of a list, only the problems of that list."""
    collections: list[Collection] = []
    problems: list[Problem] = []
    values: dict[str, tuple[ast.expr, ...]] = {}
    keyed = False
    appends = isinstance(loop.node, ast.stmt) and loop.appends_to is not None
    for name, grown in _growths([loop.node] if appends else loop.body).items():
        if name in names.bound and name not in names.read_first:
            continue  # created in every iteration
        answer = _collection(loop, name, grown, layers)
        if isinstance(answer, str):
            what = f"`{name}` collects a value from every layer, and {answer}"
            last = f"name the last element: `last = {name}[-1]` before the loop, and append `last` in it"
            read = f"{name}[-1]" in {ast.unparse(each) for each in nodes_in(*loop.body) if isinstance(each, ast.expr)}
            problems.append(Problem("SCN206", what, grown[0].node, last if read else ""))
        elif answer is not None and not appends:
            collections.append(answer)
            values[name] = tuple(value for each in grown for value in each.values)
            keyed = keyed or any(each.key is not None and reads(each.key) for each in grown)
    return Collected(tuple(collections), tuple(problems), keyed, values)


def _collection(loop: Loop, name: str, grown: Sequence[Growth], layers: frozenset[str]) -> Collection | str | None:
    """Return the collection, or why there is none; None if the body adds to the name as to a number or an array."""
    kinds, since = _made(loop, name)
    if not kinds - {_NONE}:
        return None if all(each.how == "plus" for each in grown) else _NOT_NEW
    region, inside = [*since, loop.node], set(nodes_in(loop.node))
    known: set[ast.AST] = {place for each in _growths(region).get(name, ()) for place in each.names}
    known |= set(_compared_with_none(name, *region))
    elements = (each for each in nodes_in(*since) if _is_element(each) and each not in inside)
    known.update(each.value for each in elements if scope_of(loop.module, each) is loop.scope)
    looked = [place for place in mentions(name, *region) if place not in known]
    if looked:
        reads_it = not inside.isdisjoint(looked)
        return f"the loop reads `{name}` too" if reads_it else f"something else may hold `{name}` while the loop runs"
    layer = [each.id for one in grown for each in one.values if isinstance(each, ast.Name) and each.id in layers]
    if layer:
        return f"`{layer[0]}` is a layer; a scan collects arrays"
    adds, ways = _ADDS[(kinds - {_NONE}).pop()] if len(kinds - {_NONE}) == 1 else (Adds.LIST, set[str]())
    if not {each.how for each in grown} <= ways:
        by_index = adds is Adds.LIST and any(each.how == "key" for each in grown)
        return "the body stores into it by an index: append to a new list" if by_index else _OTHER_KIND
    return Collection(name, adds, surely=_NONE not in kinds)


def _made(loop: Loop, name: str) -> tuple[set[str], list[ast.AST]]:
    """Return the kinds of container that a name may hold before the loop, empty if unknown.

    The second value is the code from its creation to the end of the loop: the statements, and the outermost loop that
    starts after it.
    """
    nothing: tuple[set[str], list[ast.AST]] = (set(), [])
    if loop.scope.parent is None or name in {*loop.scope.globals, *loop.scope.nonlocals}:
        return nothing
    path = path_to(loop)
    made = [at for at, each in enumerate(path) if assignments([each], name)]
    made = [at for at in made if not isinstance(path[at], ast.AugAssign)]
    if not made:
        return nothing
    statement, since = path[made[-1]], path[made[-1] + 1 :]
    given = assignments([statement], name)
    kinds = [_kind(loop, value) for each in given for value in value_given(each, name)]
    shared = any(len(getattr(each, "targets", (name,))) > 1 for each in given)  # `outs = other = []`
    if shared or len(kinds) != len(given) or not all(kinds) or name not in flow([statement]).definite:
        return nothing
    around = [each for each in statements_around(loop) if isinstance(each, LOOPS) and statement not in nodes_in(each)]
    return {kind for each in kinds for kind in each}, [*since, *around[-1:]]


def _kind(loop: Loop, value: ast.expr) -> set[str]:
    """Return the kinds of container that an expression may create; empty if unknown."""
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
            return {loop.scope.builtin(value) or ""} & _MAKERS
        case ast.IfExp():
            first, second = _kind(loop, value.body), _kind(loop, value.orelse)
            return first | second if first and second else set()
        case _:
            return set()


def _is_element(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """True for `outs[-1]`, which keeps no reference to the list itself."""
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice)


def _compared_with_none(name: str, *nodes: ast.AST) -> Iterator[ast.Name]:
    """Yield the places where code tests for a collection: `if caches is not None: caches.append(cache)`."""
    for node in nodes_in(*nodes):
        match node:
            case ast.Compare(ast.Name(id=compared) as place, [ast.Is() | ast.IsNot()], [ast.Constant(value=None)]):
                if compared == name:
                    yield place


def _growths(statements: Sequence[ast.AST]) -> dict[str, list[Growth]]:
    """Return the growths of each name in statements and their blocks, without nested functions."""
    grown: dict[str, list[Growth]] = {}
    for statement in statements_in(statements):
        for growth in _growth(statement):
            grown.setdefault(growth.names[0].id, []).append(growth)
    return grown


def _growth(statement: ast.AST) -> Iterator[Growth]:
    match statement:
        case ast.Expr(
            ast.Call(ast.Attribute(ast.Name() as name, "append" | "extend"), args),
        ):
            yield Growth("method", statement, (name,), tuple(args))
        case ast.AugAssign(ast.Name() as name, ast.Add(), value):
            yield Growth("plus", statement, (name,), _elements(value))
        case ast.Assign([ast.Name() as name], ast.BinOp(ast.Name() as old, ast.Add(), right)) if old.id == name.id:
            yield Growth("plus", statement, (name, old), _elements(right))
        case ast.Assign(targets, value):
            for target in nodes_in(*targets):
                match target:
                    case ast.Subscript(ast.Name() as name, key, ast.Store()) if not isinstance(key, ast.Slice):
                        yield Growth("key", target, (name,), (value,), key)


def _elements(value: ast.expr) -> tuple[ast.expr, ...]:
    return tuple(value.elts) if isinstance(value, ast.List | ast.Tuple) else (value,)
