"""Lists, tuples and dicts that a loop's body adds to and does not read: what they collect can leave a scan.

Inside of one layer's function the name stands for a fresh empty collection, and what a layer put into it is added to
the outer one after the loop. So nothing may look at the outer one while the loop runs: neither the body nor whoever
else may hold it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from scanify.analysis.around import path_to
from scanify.analysis.children import children
from scanify.analysis.effects import Problem
from scanify.analysis.growth import Growth, How, growths
from scanify.analysis.mentions import mentions
from scanify.analysis.names import body_of, flow, parameter_names, reads
from scanify.analysis.plan import Adds, Collection
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, assignments, builtin_called, matched

_NONE = "None"
_MAKERS = frozenset("list tuple dict".split())


@dataclass(frozen=True, eq=False)
class Collected:
    """What a body collects, the statements that do so, and why other names that it adds to are none of these.

    `keyed` says that what is collected goes by names or indices that may differ from layer to layer; `obligations` are
    what only a run can show of collections that are the caller's.
    """

    collections: tuple[Collection, ...] = ()
    nodes: frozenset[cst.CSTNode] = frozenset()
    why_not: Mapping[str, str] = field(default_factory=dict)
    keyed: bool = False
    obligations: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.collections)

    def left(self, problems: Sequence[Problem]) -> list[Problem]:
        """The problems without those that are none here, with the reasons why the others are."""
        return [self._explained(one) for one in problems if one.rule != "SCN206" or one.node not in self.nodes]

    def _explained(self, problem: Problem) -> Problem:
        for name, why in self.why_not.items():
            if problem.rule == "SCN206" and problem.reason.startswith(f"`{name}` "):
                return replace(problem, reason=f"{problem.reason}, and {why}")
        return problem


def collected(project: Project, at: Where, loop: cst.For, layers: frozenset[str]) -> Collected:
    """Find the collections of a loop."""
    found: list[Collection] = []
    nodes: set[cst.CSTNode] = set()
    why_not: dict[str, str] = {}
    keyed = False
    obligations: list[str] = []
    for name, grown in growths(body_of(loop.body)).items():
        answer = _collection(project, at, loop, name, grown, layers)
        if isinstance(answer, str):
            why_not[name] = answer
        elif answer is not None:
            found.append(answer)
            nodes |= {one.node for one in grown}
            keyed = keyed or any(one.key is not None and reads(one.key) for one in grown)
            if at.parameter(name) is not None:
                obligations.append(f"nothing else reads `{name}`, which is the caller's, while the loop runs")
    return Collected(tuple(found), frozenset(nodes), why_not, keyed, tuple(obligations))


def _collection(
    project: Project, at: Where, loop: cst.For, name: str, grown: Sequence[Growth], layers: frozenset[str]
) -> Collection | str | None:
    """The collection, or why it is none; None where the name is added to as numbers and arrays are."""
    kinds = _starts(project, at, loop, name, grown)
    if isinstance(kinds, str):
        return None if all(one.how is How.PLUS for one in grown) else kinds
    adds = _adds(kinds - {_NONE}, grown)
    if isinstance(adds, str):
        return adds
    own = {one for each in grown for one in each.names} | set(_walked_by_number(loop, name))
    if any(one not in own for one in mentions(loop, name)):
        return f"the loop reads `{name}` too"
    if _read_before(at, loop, name):
        return f"something else may hold `{name}` while the loop runs"
    for one in grown:
        what = _no_arrays(loop, one, layers)
        if what is not None:
            return f"`{what}` is a module, or a function"
    return Collection(name, adds, surely=_NONE not in kinds and name in flow(path_to(at, loop)).sure)


def _adds(kinds: set[str], grown: Sequence[Growth]) -> Adds | str:
    how = {one.how for one in grown}
    if kinds == {"list"} and how == {How.ENTRY}:
        # 3 and -1 may be one place, where the last one stored is what counts: a dict does not say which that was.
        once = len(grown) == 1 and not grown[0].repeated
        return Adds.ENTRIES if once else "one layer may store at several indices"
    if kinds == {"list"} and How.ENTRY not in how and How.TUPLE not in how:
        return Adds.LIST
    if kinds == {"tuple"} and how <= {How.PLUS, How.TUPLE}:
        return Adds.TUPLE
    if kinds == {"dict"} and how == {How.ENTRY}:
        return Adds.DICT
    return "what it is before the loop does not go with how the body adds to it"


# -- what the name is before the loop -----------------------------------------------------------------------------


def _starts(project: Project, at: Where, loop: cst.For, name: str, grown: Sequence[Growth]) -> set[str] | str:
    """What the name may be when the loop begins, of "list", "tuple", "dict" and "None"; or why that is not known."""
    function = at.function
    if function is None:
        return "it is a global name"
    kinds: set[str] = set()
    if name in parameter_names(function.params):
        if at.parameter(name) is None or any(one.how is not How.ENTRY for one in grown):
            return "it belongs to the caller"
        kinds.add("list")  # or a dict: entries are stored into either alike
    for statement in assignments(at.body(), name):
        if not _runs_before(at, loop, statement) or isinstance(statement, cst.AugAssign):
            continue
        values: list[cst.BaseExpression] = []
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            values = matched(statement.targets[0].target, statement.value, name)
        elif isinstance(statement, cst.AnnAssign) and statement.value is not None:
            values = [statement.value]
        found = [_kind(project, at, value) for value in values]
        if not found or None in found:
            return "it is not a new list, tuple or dict of this function"
        kinds |= {kind for each in found if each is not None for kind in each}
    return kinds if kinds - {_NONE} else "it is not a new list, tuple or dict of this function"


def _kind(project: Project, at: Where, value: cst.BaseExpression) -> set[str] | None:
    """What an expression surely makes anew; None where that is not known."""
    match value:
        case cst.List() | cst.ListComp():
            return {"list"}
        case cst.Tuple():
            return {"tuple"}
        case cst.Dict() | cst.DictComp():
            return {"dict"}
        case cst.Name(value="None"):
            return {_NONE}
        case cst.Call():
            name = builtin_called(project, at, value)
            return {name} if name in _MAKERS else None
        case cst.IfExp():
            one, other = _kind(project, at, value.body), _kind(project, at, value.orelse)
            return one | other if one is not None and other is not None else None
        case cst.BinaryOperation(operator=cst.Multiply()):
            both = (_kind(project, at, value.left), _kind(project, at, value.right))
            return next((one for one in both if one in ({"list"}, {"tuple"})), None)
        case cst.BinaryOperation(operator=cst.Add()):
            one, other = _kind(project, at, value.left), _kind(project, at, value.right)
            return one if one == other and one in ({"list"}, {"tuple"}) else None
        case _:
            return None


# -- who may look at it while the loop runs -----------------------------------------------------------------------


def _read_before(at: Where, loop: cst.For, name: str) -> bool:
    """Whether anything but the making of a collection and adding to it stands before the loop, or in a loop around.

    A function that reads the name may be called by the body, and another name for the same object be read there.
    """
    assert at.function is not None
    statements = body_of(at.function.body)
    own = {one for each in growths(statements).get(name, ()) for one in each.names}
    for statement in assignments(at.body(), name):
        targets = statement.targets if isinstance(statement, cst.Assign) else (statement,)
        own |= {one for target in targets for one in mentions(getattr(target, "target", cst.Pass()), name)}
    own |= set(_looks(at, at.function, name))
    within = set(mentions(loop, name))
    return any(
        one not in own and one not in within and _runs_before(at, loop, one) for one in mentions(at.function.body, name)
    )


def _looks(at: Where, function: cst.FunctionDef, name: str) -> Iterator[cst.Name]:
    """The places outside of inner functions that read an element or the length, or ask for None: they keep no list."""
    parsed = at.module.parsed
    for use in mentions(function.body, name):
        above = parsed.parent(use)
        scopes = (cst.FunctionDef, cst.Lambda, cst.GeneratorExp)
        if next((one for one in parsed.ancestors(use) if isinstance(one, scopes)), None) is not function:
            continue
        element = isinstance(above, cst.Subscript) and above.value is use and _is_index(above)
        call = parsed.parent(above) if isinstance(above, cst.Arg) else None
        if (
            (element and not isinstance(parsed.parent(above or use), cst.AssignTarget))
            or (isinstance(call, cst.Call) and dotted(call.func) == "len")
            or (
                isinstance(above, cst.Comparison)
                and all(isinstance(one.operator, cst.Is | cst.IsNot) for one in above.comparisons)
            )
        ):
            yield use


def _is_index(node: cst.Subscript) -> bool:
    """Whether a subscript takes one element: a part of an array of numpy is the array."""
    return all(isinstance(one.slice, cst.Index) for one in node.slice)


def _walked_by_number(loop: cst.For, name: str) -> Iterator[cst.Name]:
    """The places in a loop's head that take the elements of a list, all of them, before its first turn."""

    def walked(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        match node:
            case cst.ListComp(elt=cst.Subscript(value=taken)):
                yield taken
            case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=taken)]):
                yield taken
        for child in children(node):
            yield from walked(child)

    for node in walked(loop.iter):
        if isinstance(node, cst.Name) and node.value == name:
            yield node


def _runs_before(at: Where, loop: cst.For, node: cst.CSTNode) -> bool:
    """Whether code may run before the loop: it stands above it, or in a loop around it."""
    parsed = at.module.parsed
    if parsed.span(node).start < parsed.span(loop).start:
        return True
    around = [one for one in parsed.ancestors(loop) if isinstance(one, cst.For | cst.While | cst.FunctionDef)]
    inside = around[: around.index(at.function)] if at.function in around else around
    above = parsed.ancestors(node)
    return loop not in above and any(one in above for one in inside)


# -- what is collected --------------------------------------------------------------------------------------------


def _no_arrays(loop: cst.For, growth: Growth, layers: frozenset[str]) -> str | None:
    """A name that is collected and stands for a layer, a module made of one, or a function: the body calls it."""
    names = {dotted(one) for one in growth.values}
    called = layers | {name for name in map(dotted, _called(loop)) if name is not None}
    return next((name for name in names if name in called), None)


def _called(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What is called, and what is given to a call whose result is called: `layer` of `jax.vmap(layer)(x)`."""
    if isinstance(node, cst.Call):
        yield node.func
        if isinstance(node.func, cst.Call):
            yield from (arg.value for arg in node.func.args)
    for child in children(node):
        yield from _called(child)
