"""The body of a loop as a transformation: what it carries, what it shares, and why it may not be one."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.effects import EffectFinder, Problem
from scanify.analysis.header import Header
from scanify.analysis.names import Names, body_of, flow, parameter_names, reads, target_names
from scanify.analysis.plan import Argument, LayerCall
from scanify.analysis.project import Project, dotted
from scanify.analysis.where import Where, assignments


@dataclass(frozen=True, eq=False)
class BodyFacts:
    """What one body does, given the name of the layer and the per-layer targets of its loop."""

    carry: tuple[str, ...]
    broadcast: tuple[str, ...]
    call: LayerCall | None
    applies_layer: bool
    problems: tuple[Problem, ...]
    obligations: tuple[str, ...]
    notes: tuple[str, ...]


def body_facts(project: Project, at: Where, loop: cst.For, head: Header, layer: str) -> BodyFacts:
    """Read a loop's body."""
    statements = body_of(loop.body)
    names = flow(statements)
    targets = set(target_names(loop.target))
    carry = tuple(name for name in names.exposed if name in names.bound and name not in targets)
    own = frozenset(names.bound) | targets
    fresh = frozenset(names.bound) - set(carry)
    effects = EffectFinder(project, at, own, fresh).body(statements)
    problems = [*effects.problems, *_rebound_targets(names, targets)]
    problems += _lost_values(at, loop, names, targets, carry)
    problems += _captures(at, loop, set(carry), set(names.bound) | targets)
    problems += _starts(at, loop, carry, names)
    call = _layer_call(statements, layer, carry, targets, head) if len(carry) == 1 else None
    obligations = list(effects.obligations)
    obligations += [
        f"`{name}` keeps its dtype, though it starts as a Python number" for name in carry if _number(at, loop, name)
    ]
    return BodyFacts(
        carry,
        _broadcast(at, names, carry, targets),
        call,
        layer in names.exposed,
        tuple(problems),
        tuple(dict.fromkeys(obligations)),
        tuple(dict.fromkeys(effects.notes)),
    )


def _broadcast(at: Where, names: Names, carry: Sequence[str], targets: set[str]) -> tuple[str, ...]:
    """The names of the function around that the body reads and every layer sees alike."""
    local = at.locals - {at.self_name}
    return tuple(name for name in names.exposed if name in local and name not in carry and name not in targets)


def _rebound_targets(names: Names, targets: set[str]) -> list[Problem]:
    return [
        Problem("SCN212", f"the body assigns to the loop's own target `{name}`", names.bound[name])
        for name in names.bound
        if name in targets
    ]


def _lost_values(at: Where, loop: cst.For, names: Names, targets: set[str], carry: Sequence[str]) -> list[Problem]:
    """Values that code after the loop reads and that only the last turn of the Python loop leaves behind."""
    after = flow(_continuation(at, loop)).exposed
    lost = [name for name in (*targets, *names.bound) if name in after and name not in carry]
    return [Problem("SCN209", f"`{name}` is read after the loop", after[name]) for name in dict.fromkeys(lost)]


def _continuation(at: Where, loop: cst.For) -> list[cst.CSTNode]:
    """The statements that may run after the loop ends, in order; those of an enclosing loop come round again."""
    parsed = at.module.parsed
    found: list[cst.CSTNode] = []
    below: cst.CSTNode = loop
    for above in parsed.ancestors(loop):
        if isinstance(above, cst.FunctionDef):
            break
        if isinstance(above, cst.IndentedBlock | cst.Module):
            position = next((i for i, one in enumerate(above.body) if one is below), len(above.body))
            found.extend(above.body[position + 1 :])
        elif isinstance(above, cst.For | cst.While):
            found.extend(_other_turns(above, loop))
        elif isinstance(above, cst.Try):
            found.extend(statement for handler in above.handlers for statement in body_of(handler.body))
            found.extend(rest for rest in (above.orelse, above.finalbody) if rest is not None)
        below = above
    return found


def _other_turns(around: cst.For | cst.While, loop: cst.For) -> list[cst.CSTNode]:
    """The body of an enclosing loop, which runs again after `loop`, without `loop` itself (its reads come first)."""
    tail = [around.orelse] if around.orelse is not None else []
    head: list[cst.CSTNode] = [cst.Expr(around.test)] if isinstance(around, cst.While) else []
    return [*head, *body_of(around.body), *tail]


def _captures(at: Where, loop: cst.For, carry: set[str], bound: set[str]) -> list[Problem]:
    """Functions made around the loop that see the names the body binds: they would see the old values."""
    function = at.function
    problems = []
    for node in _closures(function if function is not None else at.module.parsed.module, loop):
        seen = {
            **reads(node),
            **{name: statement for statement in _declared_outer(node) for name in _declared(statement)},
        }
        for name, read in seen.items():
            if name in bound and not _is_after(at, loop, node):
                rule = "SCN211" if name in carry else "SCN209"
                problems.append(Problem(rule, f"a function defined outside of the loop reads `{name}`", read))
    for statement in _declared_outer(function, nested=False) if function is not None else []:
        problems.extend(
            Problem("SCN207", f"`{name}` belongs to a scope around the function", statement)
            for name in _declared(statement)
            if name in bound
        )
    return problems


def _is_after(at: Where, loop: cst.For, node: cst.CSTNode) -> bool:
    """Whether a function is made after the loop for good: it sees the last values, as it did before.

    Of names that only the Python loop leaves behind, `_lost_values` knows.
    """
    parsed = at.module.parsed
    around = any(isinstance(above, cst.For | cst.While) for above in parsed.ancestors(loop))
    return not around and parsed.span(node).start > parsed.span(loop).end


def _closures(node: cst.CSTNode, loop: cst.For) -> list[cst.CSTNode]:
    """The outermost functions, lambdas and generator expressions in a function, without those in the loop itself."""
    found: list[cst.CSTNode] = []
    for child in node.children:
        if child is loop:
            continue
        if isinstance(child, cst.FunctionDef | cst.Lambda | cst.GeneratorExp | cst.ClassDef):
            found.append(child)
        else:
            found.extend(_closures(child, loop))
    return found


def _declared_outer(node: cst.CSTNode, nested: bool = True) -> list[cst.Global | cst.Nonlocal]:
    """The `global` and `nonlocal` statements in a function, those of functions in it included where `nested`."""
    found: list[cst.Global | cst.Nonlocal] = []
    for child in node.children:
        if isinstance(child, cst.Global | cst.Nonlocal):
            found.append(child)
        elif nested or not isinstance(child, cst.FunctionDef | cst.ClassDef):
            found.extend(_declared_outer(child, nested))
    return found


def _declared(statement: cst.Global | cst.Nonlocal) -> list[str]:
    return [item.name.value for item in statement.names]


def _starts(at: Where, loop: cst.For, carry: Sequence[str], names: Names) -> list[Problem]:
    """Carries that have no value, or no array, before the first layer."""
    problems = []
    for name in carry:
        node = names.exposed[name]
        if not _defined_before(at, loop, name):
            problems.append(Problem("SCN210", f"`{name}` has no value before the loop", node))
            continue
        value = _value_before(at, loop, name)
        if value is not None and dotted(value) == "None":
            problems.append(Problem("SCN210", f"`{name}` is None before the first layer", node))
        elif isinstance(value, cst.List | cst.Tuple | cst.Dict) and not value.elements:
            problems.append(Problem("SCN206", f"`{name}` starts empty and grows with every layer", node))
    return problems


def _defined_before(at: Where, loop: cst.For, name: str) -> bool:
    function = at.function
    if function is not None and name in parameter_names(function.params):
        return True
    start = at.module.parsed.span(loop).start
    around = any(isinstance(above, cst.For | cst.While) for above in at.module.parsed.ancestors(loop))
    for statement in assignments(at.body(), name):
        span = at.module.parsed.span(statement)
        if span.end <= start or (isinstance(statement, cst.For | cst.With) and span.start < start) or around:
            return True
    return _walrus_before(at, loop, name)


def _walrus_before(at: Where, loop: cst.For, name: str) -> bool:
    before = []
    for statement in at.body():
        if statement is loop:
            break
        before.append(statement)
    return name in flow(before).bound


def _value_before(at: Where, loop: cst.For, name: str) -> cst.BaseExpression | None:
    """The value a name was last assigned before the loop, where that is a plain assignment."""
    start = at.module.parsed.span(loop).start
    last = None
    for statement in assignments(at.body(), name):
        if at.module.parsed.span(statement).end <= start:
            last = statement
    if isinstance(last, cst.Assign | cst.AnnAssign):
        plain = isinstance(last, cst.AnnAssign) or any(dotted(t.target) == name for t in last.targets)
        return last.value if plain else None
    return None


def _number(at: Where, loop: cst.For, name: str) -> bool:
    value = _value_before(at, loop, name)
    if isinstance(value, cst.UnaryOperation):
        value = value.expression
    return isinstance(value, cst.BaseNumber) or (value is not None and dotted(value) in ("True", "False"))


def _layer_call(
    statements: Sequence[cst.CSTNode], layer: str, carry: Sequence[str], targets: set[str], head: Header
) -> LayerCall | None:
    """The call, where the body is `carry = layer.method(carry, ...)` with arguments that need no local function."""
    if len(statements) != 1:
        return None
    node = statements[0]
    if isinstance(node, cst.SimpleStatementLine):
        if len(node.body) != 1:
            return None
        node = node.body[0]
    if not isinstance(node, cst.Assign) or len(node.targets) != 1 or dotted(node.targets[0].target) != carry[0]:
        return None
    call = node.value
    if not isinstance(call, cst.Call) or not call.args or call.lpar:
        return None
    name = dotted(call.func)
    if name == layer:
        method = "__call__"
    elif name is not None and name.startswith(f"{layer}.") and name.count(".") == 1:
        method = name.rpartition(".")[2]
    else:
        return None
    first, *rest = call.args
    if first.keyword is not None or first.star or dotted(first.value) != carry[0]:
        return None
    arguments = _arguments(rest, {carry[0], *targets}, head, layer)
    return LayerCall(method, None, arguments) if arguments is not None else None


def _arguments(rest: Sequence[cst.Arg], own: set[str], head: Header, layer: str) -> tuple[Argument, ...] | None:
    walked = {
        part.target.value for part in head.parts if isinstance(part.target, cst.Name) and part.target.value != layer
    }
    if len(walked) != len(head.parts) - 1:
        return None  # a target that is a pattern
    found: list[Argument] = []
    used: list[str] = []
    for arg in rest:
        if arg.star:
            return None
        keyword = arg.keyword.value if arg.keyword is not None else None
        name = dotted(arg.value)
        if name in walked and name is not None:
            found.append(Argument(name, keyword, axis=0))
            used.append(name)
        elif set(reads(arg.value)) & own or flow([cst.Expr(arg.value)]).bound:
            return None  # it differs from layer to layer, or binds a name: a local function says so better
        else:
            found.append(Argument(_code(arg.value), keyword))
    # An xs that no argument uses still counts the turns of `zip`, and one used twice is walked once.
    return tuple(found) if sorted(used) == sorted(walked) else None


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
