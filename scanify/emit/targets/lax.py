"""The target `lax`: loops become calls of `jax.lax.scan`, with no libraries but jax and equinox."""

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from scanify.analysis.plan import Framework, Mapped, Plan
from scanify.analysis.stack import CallStack, InitStack
from scanify.emit.edits import Edit
from scanify.emit.loops.commented import with_comments
from scanify.emit.loops.function import flat, function_over_layer
from scanify.emit.loops.local_function import one_name
from scanify.emit.loops.sites import Stacking
from scanify.emit.names.fresh_name import fresh
from scanify.emit.names.imports import Import
from scanify.emit.target import Context, Helper
from scanify.emit.targets import pieces
from scanify.emit.targets.lax_trees import ONE_EACH, STACK_TREES, loop_over_trees
from scanify.emit.targets.written import (
    COUNT_LAYERS,
    MAP_LAYERS,
    OFFLOAD_CARRIES,
    PER_LAYER,
    SCAN_IN_CHUNKS,
    STACK_LAYERS,
    UNSTACK_LAYERS,
)
from scanify.emit.text import layout
from scanify.emit.text.loop_text import loop_text
from scanify.emit.text.map_text import in_its_place
from scanify.errors import CheckFailed

FRAMEWORK = Framework.EQUINOX
HELPERS: Mapping[str, Helper] = {
    "stack_layers": STACK_LAYERS,
    "count_layers": COUNT_LAYERS,
    "per_layer": PER_LAYER,
    "unstack_layers": UNSTACK_LAYERS,
    "map_layers": MAP_LAYERS,
    "scan_in_chunks": SCAN_IN_CHUNKS,
    "offload_carries": OFFLOAD_CARRIES,
    "stack_trees": STACK_TREES,
    "one_each": ONE_EACH,
}
POLICY_AT_RUN_TIME = False

_IMPORTS = (Import("equinox", "eqx", whole=True), Import("jax", "jax", whole=True))
_NAMES = Import("jax.ad_checkpoint", "checkpoint_name")

unstackable = pieces.unstackable


def refusal(plan: Plan, remat: str | None) -> str | None:
    """Return why `jax.lax.scan` cannot express the loop."""
    return pieces.refusal(plan, "jax.lax.scan")


def needed(plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
    """Return both libraries for every file that may hold a helper."""
    paths = {plan.place.path}
    if isinstance(plan.stack, InitStack):
        paths |= {item.place.path for item in (*plan.stack.sites, *plan.stack.annotations)}
    found = {(path, one) for path in paths for one in (_IMPORTS[1:] if plan.trees else _IMPORTS)}
    return frozenset(found | ({(plan.place.path, _NAMES)} if remat == '"offload"' else set()))


def edits(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return the edits of all plans, without imports and helpers."""
    return pieces.edits_of(plans, context, _loop_edits, _map_edit, _stacking(context), _length)


def elsewhere(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Replace `len` of a list by the length of the stack."""
    return pieces.lengths_elsewhere(plans, context, _length)


def _length(stack: str, names: Mapping[str, str]) -> str:
    return f"{names['count_layers']}({stack})"


def _stacking(context: Context) -> Callable[[Path], Stacking]:
    """Write `stack_layers(layers)`, which returns a layer of the same class."""

    def stacking(path: Path) -> Stacking:
        names = context.names[path]
        return Stacking(names["stack_layers"], (), lambda element: element or f"{names['eqx']}.Module")

    return stacking


def _map_edit(plan: Plan, context: Context, mapped: Mapped) -> Edit:
    """Replace independent layers, applied in order: without a carry, and with the outputs in a list."""
    path = plan.place.path
    names = context.names[path]
    parameters = ", ".join([plan.layer, *(xs.target for xs in plan.xs)])
    sources = pieces.sources_of(plan, names["jax"])
    if isinstance(plan.stack, CallStack) and sources:
        layers = f"{names['stack_layers']}(zip({', '.join([pieces.layers_of(plan), *sources])}, strict=True))"
    else:
        layers = _stacked(plan, names, _stack(plan, names), as_tuple=True)
    arguments = [f"lambda {parameters}: {mapped.element}", layers]
    if mapped.appends_to is None:
        return in_its_place(plan, names["map_layers"], arguments, None, context)
    loop = loop_text(plan, context.texts[path], context.houses[path])
    statement = layout.call(f"{mapped.appends_to}.extend({names['map_layers']}", arguments, loop.style, ")")
    return Edit(path, loop.start, loop.end, with_comments(statement, loop))


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    if plan.trees:
        return loop_over_trees(plan, context, given, _scan)
    path = plan.place.path
    text, names = context.texts[path], context.names[path]
    loop = loop_text(plan, text, context.houses[path])
    new, style = pieces.NewNames(text, given), loop.style
    name = new(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}")
    layers, static = new("layers"), new("static")
    parameters, unpacking = _parameters(plan, names["eqx"], static, new.taken | given)
    function = function_over_layer(plan, loop, name, parameters, unpacking, given, pair=True)
    begin, stack = [], _stack(plan, names)
    if isinstance(plan.stack, CallStack) and plan.xs:
        stacked = new("stacked")
        begin, stack = [f"{stacked} = {stack}"], stacked
    parts = [_stacked(plan, names, stack), f"{names['eqx']}.is_array"]
    partition = layout.call(f"{layers}, {static} = {names['eqx']}.partition", parts, style)
    carry = f"({layout.pattern(plan.carry)})" if len(plan.carry) > 1 else plan.carry[0]
    collected = function.outputs.assigned.rpartition(", ")[2] if plan.collections else new.unread()
    remat, scan, applied = _scan(name, context.remat, names, style)
    after = [*remat, layout.call(f"{carry}, {collected} = {scan}", [applied, carry, layers], style)]
    if plan.collections:
        in_call = isinstance(plan.stack, CallStack)
        count = f"len({pieces.layers_of(plan)})" if in_call else _length(plan.container, names)
        after.append(f"{collected} = {names['unstack_layers']}({collected}, {count})")
        after += [f"{style.step * depth}{line}" for depth, line in function.outputs.after]
    return pieces.in_place_of_loop(plan, loop, text, [*begin, partition], function, after)


def _parameters(plan: Plan, eqx: str, static: str, used: Set[str]) -> tuple[list[str], list[str]]:
    """Return the function's parameters, and the lines that unpack them into the loop's names."""
    targets = [plan.layer, *(xs.target for xs in plan.xs)]
    unpacking = []
    state = plan.carry[0]
    if len(plan.carry) > 1:
        state = fresh("carry", used)
        unpacking.append(f"{layout.pattern(plan.carry)} = {state}")
    layer = "layer" if plan.layer == "layer" else fresh("layer", used | {state})
    pattern = flat(targets[0]) if len(targets) == 1 else ", ".join(targets)
    unpacking.append(f"{pattern} = {eqx}.combine({layer}, {static})")
    return [state, layer], unpacking


def _stack(plan: Plan, names: Mapping[str, str]) -> str:
    return plan.container if isinstance(plan.stack, InitStack) else f"{names['stack_layers']}({pieces.layers_of(plan)})"


def _stacked(plan: Plan, names: Mapping[str, str], stack: str, *, as_tuple: bool = False) -> str:
    """Write the stacked layers, in a tuple with the stacked xs if there are any or with `as_tuple`."""
    each = [f"{names['per_layer']}({one}, {_length(stack, names)})" for one in pieces.sources_of(plan, names["jax"])]
    return layout.tuple_display([stack, *each]) if each or as_tuple else stack


def _scan(name: str, remat: str | None, names: Mapping[str, str], style: layout.Style) -> tuple[list[str], str, str]:
    """Return the statements before the scan, the scanning function, and the function it applies, under a policy."""
    jax = names["jax"]
    scan = f"{jax}.lax.scan"
    match remat:
        case "False" | '"save_all"':
            return [], scan, name
        case '"nested"':
            return [], names["scan_in_chunks"], name
        case '"offload"':
            return [], scan, f"{names['offload_carries']}({name})"
        case '"dots"':
            policy = f"policy={jax}.checkpoint_policies.dots_with_no_batch_dims_saveable"
            statement = layout.call(f"{name} = {jax}.checkpoint", [name, "prevent_cse=False", policy], style)
            return [statement], scan, name
        case None | "True" | '"full"':
            return [], scan, f"{jax}.checkpoint({name}, prevent_cse=False)"
    raise CheckFailed(f"expected a remat policy that the target lax knows, got {remat}; nothing was written")
