"""The target `lax`: loops become calls of `jax.lax.scan`, with no library but jax and equinox."""

import builtins
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from scanify.analysis.plan import Called, CallStack, Holds, InitStack, Plan
from scanify.emit.edits import Edit
from scanify.emit.loops.comments import comments_of, without
from scanify.emit.loops.function import flat, function_over_layer
from scanify.emit.loops.local_function import blank_line_before, one_name, scope_start
from scanify.emit.loops.sites import Stacking, site_edits
from scanify.emit.names.fresh_name import fresh
from scanify.emit.names.imports import Import
from scanify.emit.names.unbound import names_of
from scanify.emit.target import Context, Helper
from scanify.emit.targets.other_uses import OtherUse, lengths
from scanify.emit.targets.written import (
    COUNT_LAYERS,
    OFFLOAD_CARRIES,
    PER_LAYER,
    SCAN_IN_CHUNKS,
    STACK_LAYERS,
    UNSTACK_LAYERS,
)
from scanify.emit.text import layout
from scanify.emit.text.loop_text import loop_text
from scanify.errors import CheckFailed

HELPERS: Mapping[str, Helper] = {
    "stack_layers": STACK_LAYERS,
    "count_layers": COUNT_LAYERS,
    "per_layer": PER_LAYER,
    "unstack_layers": UNSTACK_LAYERS,
    "scan_in_chunks": SCAN_IN_CHUNKS,
    "offload_carries": OFFLOAD_CARRIES,
}
POLICY_AT_RUN_TIME = False

_IMPORTS = (Import("equinox", "eqx", whole=True), Import("jax", "jax", whole=True))
_NAMES = Import("jax.ad_checkpoint", "checkpoint_name")

_UNLIKE = (
    "jax.lax.scan applies one body to arrays of one shape, and the source does not show that one fits all layers: they "
    "may differ in more than their arrays, or what goes from one to the next may"
)


def refusal(plan: Plan) -> str | None:
    """A scan applies equal layers, all of them, and carries arrays."""
    if not plan.loops:
        return "the target lax writes loops as scans, and this is an equinox.nn.Sequential, which has none"
    if plan.ends_early:
        return "jax.lax.scan applies every layer, and this loop may end before its last one"
    if plan.mapped is not None:
        return "the target lax has no words for layers that are applied side by side"
    if plan.folded is not None:
        return "a scan is a statement, and this fold is an expression; write it as a `for` statement"
    if plan.unset:
        return f"jax.lax.scan carries arrays, and {plan.unset[0]} has no value when the loop begins"
    if plan.holds is not Holds.ARRAY_STACKED:
        return _UNLIKE
    return None


def unstackable(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str | None:
    """A stack is one layer with longer arrays: what treats it as a list would fail."""
    if isinstance(plan.stack, InitStack) and any(isinstance(site, Called) for site in plan.stack.sites):
        return "the list is an equinox.nn.Sequential"
    found = lengths(plan, plans, texts)
    return found.what if isinstance(found, OtherUse) else None


def needed(plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
    """Both libraries, wherever a helper may stand."""
    paths = {plan.place.path}
    if isinstance(plan.stack, InitStack):
        paths |= {item.place.path for item in (*plan.stack.sites, *plan.stack.annotations)}
    found = {(path, one) for path in paths for one in _IMPORTS}
    return frozenset(found | ({(plan.place.path, _NAMES)} if remat == '"offload"' else set()))


def edits(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """The edits of all plans, imports and helpers left out."""
    made: list[Edit] = []
    given: dict[tuple[Path, int], set[str]] = {}  # the names already given in each scope
    for plan in plans:
        scope = scope_start(context.texts[plan.place.path], plan.place.span.start)
        made += _loop_edits(plan, context, given.setdefault((plan.place.path, scope), set()))
        made += site_edits(plan, context, _stacking(context))
    return made


def elsewhere(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """What asked a list for its length asks the stack."""
    made = []
    for plan in (one for one in plans if isinstance(one.stack, InitStack)):
        found = lengths(plan, plans, context.texts)
        assert not isinstance(found, OtherUse)  # `unstackable` has asked
        for one in found:
            count = context.names[one.path]["count_layers"]
            made.append(Edit(one.path, one.start, one.end, f"{count}({plan.container})"))
    return made


def _stacking(context: Context) -> Callable[[Path], Stacking]:
    """`stack_layers(layers)`, which is a layer of the same class."""

    def stacking(path: Path) -> Stacking:
        names = context.names[path]
        return Stacking(names["stack_layers"], (), lambda element: element or f"{names['eqx']}.Module")

    return stacking


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    path = plan.place.path
    text, names = context.texts[path], context.names[path]
    loop = loop_text(plan, text, context.houses[path])
    style, newline = loop.style, loop.style.newline
    break_ = newline + style.indent
    known = names_of(text)
    taken = known.bound | known.unbound | set(dir(builtins))

    def new(wanted: str) -> str:
        name = fresh(wanted, taken | given)
        given.add(name)
        return name

    name = new(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}")
    layers, static = new("layers"), new("static")
    parameters, unpacking = _parameters(plan, names["eqx"], static, taken | given)
    function = function_over_layer(plan, loop, name, parameters, unpacking, given, pair=True)
    stacked = layout.call(f"{layers}, {static} = {names['eqx']}.partition", _stacked(plan, names), style)
    carry = f"({layout.pattern(plan.carry)})" if len(plan.carry) > 1 else plan.carry[0]
    collected = function.outputs.assigned.rpartition(", ")[2] if plan.collections else _unread(plan)
    remat, scan, applied = _scan(name, context.remat, names, style)
    state = f"({layout.pattern(plan.carry)})" if len(plan.carry) > 1 else carry
    call = layout.call(f"{state}, {collected} = {scan}", [applied, carry, layers], style)
    lines = [call]
    if plan.collections:
        lines.append(f"{collected} = {names['unstack_layers']}({collected})")
        lines += [f"{style.step * depth}{line}" for depth, line in function.outputs.after]
    blank = newline * (1 if style.indent else 2)
    after = f"{blank}{style.indent}{break_.join([*remat, *lines])}"
    below = f"{function.text}{newline}{after}"
    above = without(list(loop.comments), comments_of(below, style.indent))
    begin = break_.join([*plan.ahead, *above, stacked])
    whole = _with_lengths(f"{begin}{newline}{blank}{style.indent}{below}", plan, names)
    made = [Edit(path, loop.start, loop.end, whole)]
    at = None if plan.ahead else blank_line_before(text, loop)
    return made if at is None else [Edit(path, at, at, blank), *made]


def _parameters(plan: Plan, eqx: str, static: str, used: Set[str]) -> tuple[list[str], list[str]]:
    """The function's parameters, and the lines that make the loop's names of them."""
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


def _unread(plan: Plan) -> str:
    return "_" if "_" not in plan.taken else fresh("unread", plan.taken)


def _stacked(plan: Plan, names: Mapping[str, str]) -> list[str]:
    """What `eqx.partition` is given: the layers with what each of them has of its own, stacked."""
    is_array = f"{names['eqx']}.is_array"
    sources = [
        xs.source if xs.axis == 0 else f"{names['jax']}.numpy.moveaxis({xs.source}, {xs.axis}, 0)" for xs in plan.xs
    ]
    if isinstance(plan.stack, CallStack):
        layers = plan.container
        if plan.numbers is not None:
            number = fresh("number", plan.taken)
            layers = f"[{layout.attribute_of(layers)}[{number}] for {number} in {plan.numbers}]"
        walked = f"zip({', '.join([layers, *sources])}, strict=True)" if sources else layers
        return [f"{names['stack_layers']}({walked})", is_array]
    count = f"{names['count_layers']}({plan.container})"
    each = [f"{names['per_layer']}({layout.as_argument(source, alone=False)}, {count})" for source in sources]
    return [f"({', '.join([plan.container, *each])})" if each else plan.container, is_array]


def _scan(name: str, remat: str | None, names: Mapping[str, str], style: layout.Style) -> tuple[list[str], str, str]:
    """The statements in front of the scan, the function that scans, and what it applies, under a remat policy."""
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


def _with_lengths(text: str, plan: Plan, names: Mapping[str, str]) -> str:
    """The new text, which asks the stack for the number of layers where the loop asked the list."""
    if not isinstance(plan.stack, InitStack):
        return text
    return text.replace(f"len({plan.container})", f"{names['count_layers']}({plan.container})")
