"""The target `haliax`: loops become folds and scans of `haliax.nn.Stacked`, with per-layer values as arguments.

Values shared by all layers are closed over, since haliax takes every array argument apart, layer by layer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scanify.analysis.plan import Framework, Mapped, Plan
from scanify.analysis.stack import CallStack, InitStack
from scanify.emit.edits import Edit
from scanify.emit.loops.commented import with_comments
from scanify.emit.loops.function import function_over_layer
from scanify.emit.loops.local_function import layer_parameters, one_name
from scanify.emit.loops.outputs import Outputs
from scanify.emit.loops.sites import Stacking
from scanify.emit.names.imports import Import
from scanify.emit.target import Context, Helper
from scanify.emit.targets import pieces
from scanify.emit.targets.written import PER_LAYER_NAMED, STACK_NAMED, STACKED, UNSTACK_NAMED
from scanify.emit.text import layout
from scanify.emit.text.layout import Style
from scanify.emit.text.loop_text import loop_text
from scanify.emit.text.map_text import in_its_place
from scanify.errors import CheckFailed

FRAMEWORK = Framework.EQUINOX
HELPERS: Mapping[str, Helper] = {
    "stack_arrays": STACK_NAMED,
    "stack_layers": STACKED,
    "per_layer": PER_LAYER_NAMED,
    "unstack_layers": UNSTACK_NAMED,
}
POLICY_AT_RUN_TIME = False

PLAIN_IMPORTS = (Import("equinox", "eqx", whole=True), Import("jax", "jax", whole=True))
_IMPORTS = (*PLAIN_IMPORTS, Import("haliax", "hax", whole=True))

_DOTTED = re.compile(r"[A-Za-z_][\w.]*")

# haliax's "full" discards the carries, too; ours is its True.
_POLICIES = {
    None: "True",
    "True": "True",
    '"full"': "True",
    "False": "False",
    '"nested"': '"nested"',
    '"offload"': '"offload"',
    '"save_all"': '"save_all"',
}


def refusal(plan: Plan, remat: str | None) -> str | None:
    """Return why a fold of haliax cannot express the loop."""
    return beyond(plan, remat, "haliax.nn.Stacked")


def beyond(plan: Plan, remat: str | None, stack: str) -> str | None:
    """Return why no stack of haliax can express the loop; `stack` is the class."""
    if remat not in _POLICIES:
        return f"haliax has no remat policy like {remat}; it has none, full, nested, offload and save_all"
    if plan.mapped is not None and isinstance(plan.stack, CallStack) and not _DOTTED.fullmatch(plan.container):
        return f"in an expression haliax must be told how many layers there are in `{plan.container}`"
    return pieces.refusal(plan, stack)


def needed(plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
    """Return the libraries for every file that may hold a helper."""
    return frozenset((path, one) for path in paths_of(plan) for one in _IMPORTS)


def unstackable(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str | None:
    """Return why a list cannot be built stacked."""
    return pieces.unstackable(plan, plans, texts)


def paths_of(plan: Plan) -> set[Path]:
    """Return the files of a plan's edits."""
    if isinstance(plan.stack, InitStack):
        return {plan.place.path} | {item.place.path for item in (*plan.stack.sites, *plan.stack.annotations)}
    return {plan.place.path}


def edits(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return the edits of all plans, without imports and helpers."""
    return pieces.edits_of(plans, context, _loop_edits, _map_edit, _stacking(context), _length)


def elsewhere(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Replace `len` of a list by the length of the stack."""
    return pieces.lengths_elsewhere(plans, context, _length)


def _length(stack: str, names: Mapping[str, str]) -> str:
    return f"{stack}.Block.size"


def policy_of(remat: str | None) -> str:
    """Return haliax's form of a remat policy, a Python expression."""
    if remat not in _POLICIES:
        raise CheckFailed(f"expected a remat policy that the target haliax knows, got {remat}; nothing was written")
    return _POLICIES[remat]


def _stacking(context: Context) -> Callable[[Path], Stacking]:
    """Write `stack_layers(layers, policy)`, which returns a `haliax.nn.Stacked`."""

    def stacking(path: Path) -> Stacking:
        names = context.names[path]
        name = f"{names['hax']}.nn.Stacked"

        def annotation(element: str | None) -> str:
            return name if element is None else f"{name}[{element}]"

        return Stacking(names["stack_layers"], (policy_of(context.remat),), annotation)

    return stacking


def _map_edit(plan: Plan, context: Context, mapped: Mapped) -> Edit:
    """Replace independent layers, applied in order, by a scan without a carry."""
    path = plan.place.path
    names = context.names[path]
    stack = _stack(plan, context)
    count = _length(stack, names) if isinstance(plan.stack, InitStack) else f"len({plan.container})"
    given = ", ".join(["None", *_sources(plan, names, count)])
    scan = f"{stack}.scan_via({function_of_one(plan, context, mapped)})({given})[1]"
    return taken_apart(plan, context, mapped, [scan, count])


def function_of_one(plan: Plan, context: Context, mapped: Mapped) -> str:
    """Write what a map does with one layer as a function for a scan without a carry."""
    carry = pieces.NewNames(context.texts[plan.place.path], set())("carry")
    parameters = ", ".join([plan.layer, carry, *(xs.target for xs in plan.xs)])
    return f"lambda {parameters}: ({carry}, {mapped.element})"


def taken_apart(plan: Plan, context: Context, mapped: Mapped, arguments: list[str]) -> Edit:
    """Unstack the ys of a scan into a list if the map gave or filled one; `arguments` are the ys and their number."""
    path = plan.place.path
    unstack = context.names[path]["unstack_layers"]
    if mapped.appends_to is None:
        return in_its_place(plan, unstack, arguments, None, context)
    loop = loop_text(plan, context.texts[path], context.houses[path])
    statement = layout.call(f"{mapped.appends_to}.extend({unstack}", arguments, loop.style, ")")
    return Edit(path, loop.start, loop.end, with_comments(statement, loop))


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    path = plan.place.path
    text, names = context.texts[path], context.names[path]
    loop = loop_text(plan, text, context.houses[path])
    new, style = pieces.NewNames(text, given), loop.style
    name = new(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}")
    parameters, unpacking = layer_parameters(plan)
    function = function_over_layer(plan, loop, name, parameters, unpacking, given)
    stack, begin = _stack(plan, context), []
    if isinstance(plan.stack, CallStack) and (plan.xs or plan.collections):
        layers = new("layers")
        begin, stack = [f"{layers} = {stack}"], layers
    count = _length(stack, names)
    scan = Scan(stack, count, [name], _sources(plan, names, count))
    after = scanned(plan, scan, function.outputs, style, names["unstack_layers"])
    return pieces.in_place_of_loop(plan, loop, text, begin, function, after)


@dataclass(frozen=True)
class Scan:
    """A scan: the text of the stack, the number of layers, the arguments of the method, and its xs."""

    stack: str
    count: str
    via: list[str]
    sources: list[str]


def scanned(plan: Plan, scan: Scan, outputs: Outputs, style: Style, unstack: str) -> list[str]:
    """Write the statements after the function: its fold or scan, and lists of the collected outputs."""
    carry = f"({layout.pattern(plan.carry)})" if len(plan.carry) > 1 else plan.carry[0]
    head = f"{outputs.assigned} = {scan.stack}.{'scan_via' if plan.collections else 'fold_via'}"
    after = [layout.curried(head, scan.via, [carry, *scan.sources], style)]
    if plan.collections:
        collected = outputs.assigned.rpartition(", ")[2]
        after.append(f"{collected} = {unstack}({collected}, {scan.count})")
        after += [f"{style.step * depth}{line}" for depth, line in outputs.after]
    return after


def _stack(plan: Plan, context: Context) -> str:
    if isinstance(plan.stack, InitStack):
        return plan.container
    names = context.names[plan.place.path]
    return f"{names['stack_layers']}({pieces.layers_of(plan)}, {policy_of(context.remat)})"


def _sources(plan: Plan, names: Mapping[str, str], count: str) -> list[str]:
    """Return the xs of the loop as per-layer arguments."""
    return [f"{names['per_layer']}({one}, {count})" for one in pieces.sources_of(plan, names["jax"])]
