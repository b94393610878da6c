"""The body of a loop as a transformation: what it carries, what it shares, and why it may not be one."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.around import captures, caught, lost_values
from scanify.analysis.code import code_of
from scanify.analysis.collected import Collected, collected
from scanify.analysis.effects import EffectFinder, Problem
from scanify.analysis.exits import Exits
from scanify.analysis.fresh import fresh_names
from scanify.analysis.header import Header
from scanify.analysis.identity import identity_problems
from scanify.analysis.keys import qualified
from scanify.analysis.last_values import LastValues, last_values
from scanify.analysis.names import Names, body_of, flow, reads, target_names
from scanify.analysis.plan import Argument, LayerCall
from scanify.analysis.project import Project, dotted
from scanify.analysis.starts import asked_for, changed_in_place, start_obligations, starts, starts_otherwise
from scanify.analysis.where import Where


@dataclass(frozen=True, eq=False)
class BodyFacts:
    """What one body does, given the name of the layer and the per-layer targets of its loop.

    `last` are those names of the carry that no layer reads. `changes` says that the carry may have another structure
    before the first layer than after it.
    """

    carry: tuple[str, ...]
    broadcast: tuple[str, ...]
    call: LayerCall | None
    applies_layer: bool
    collected: Collected
    problems: tuple[Problem, ...]
    obligations: tuple[str, ...]
    notes: tuple[str, ...]
    last: LastValues
    exits: Exits
    changes: bool


def body_facts(project: Project, at: Where, loop: cst.For, head: Header, layers: frozenset[str]) -> BodyFacts:
    """Read a loop's body. `layers` are the names of the layer: several where it is a tuple that the head unpacks."""
    statements = body_of(loop.body)
    names = flow(statements)
    targets = set(target_names(loop.target))
    changing = tuple(name for name in names.exposed if name in names.bound and name not in targets)
    grown = collected(project, at, loop, layers)
    if not set(changing) - set(grown.names):
        grown = Collected(why_not=grown.why_not)  # without a carry they are independent layers
    last = last_values(at, loop, names, targets, layers)
    read = tuple(name for name in changing if name not in grown.names)
    carry = (*read, *last.names)
    own = frozenset(names.bound) | targets
    fresh = fresh_names(statements, lambda node: qualified(project, at, node)) - {*carry, *grown.names}
    effects = EffectFinder(project, at, own, fresh, layers=layers).body(statements)
    exits = Exits(at, loop, head, names, layers)
    problems = [*exits.left(effects.problems, bool(grown.names)), *_rebound_targets(names, targets)]
    problems += identity_problems(project, at, statements, layers, own)
    problems += lost_values(project, at, loop, names, targets, (*carry, *grown.names))
    problems += captures(at, loop, set(carry), (set(names.bound) | targets) - set(grown.names))
    problems += starts(at, loop, read, names)
    problems += asked_for(project, at, loop, read)
    problems += changed_in_place(project, at, loop, carry, statements)
    problems += caught(project, at, loop, (*carry, *grown.names))
    call = layer_call(statements, layers, carry, targets, head) if len(carry) == len(layers) == 1 else None
    obligations = [*effects.obligations, *grown.obligations, *start_obligations(project, at, loop, carry)]
    if last.unset:
        obligations.append(f"the loop has a layer to walk: else `{last.unset[0]}` has no value after it")
    return BodyFacts(
        carry,
        _broadcast(at, names, (*carry, *grown.names), targets),
        call,
        bool(layers & names.exposed.keys()),
        grown,
        tuple(grown.left(problems)),
        tuple(dict.fromkeys(obligations)),
        tuple(dict.fromkeys(effects.notes)),
        last,
        exits,
        bool(last.names) or starts_otherwise(at, loop, carry),
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


def layer_call(
    statements: Sequence[cst.CSTNode], layers: frozenset[str], carry: Sequence[str], targets: set[str], head: Header
) -> LayerCall | None:
    """The call, where the body is `carry = layer.method(carry, ...)` with arguments that need no local function."""
    (layer,) = layers
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
    arguments = call_arguments(rest, {carry[0], *targets}, head, layer)
    return LayerCall(method, None, arguments) if arguments is not None else None


def call_arguments(rest: Sequence[cst.Arg], own: set[str], head: Header, layer: str) -> tuple[Argument, ...] | None:
    """Arguments that can stand outside of the loop, each one xs or the same for all layers; None where some cannot."""
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
            found.append(Argument(code_of(arg.value), keyword))
    # An xs that no argument uses still counts the turns of `zip`, and one used twice is walked once.
    return tuple(found) if sorted(used) == sorted(walked) else None
