"""The target `nnx`: loops over modules of Flax NNX become one scan, and the list of modules stays.

The modules are stacked in the call and updated with their state afterwards, so that parameters, streams of random
numbers and statistics equal those of the loop. A module is an object that other code may hold: a list built stacked
would hold other objects, with other initial parameters if its constructor is mapped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.analysis.plan import Framework, Mapped, Plan
from scanify.analysis.stack import CallStack
from scanify.emit.edits import Edit
from scanify.emit.loops.commented import with_comments
from scanify.emit.loops.function import function_over_layer
from scanify.emit.loops.local_function import layer_parameters, one_name, scope_start, words
from scanify.emit.names.imports import Import
from scanify.emit.target import Context, Helper
from scanify.emit.targets import pieces
from scanify.emit.targets.nnx_written import MAP_LAYERS, SAME_STATICS, SCAN_LAYERS
from scanify.emit.text import layout
from scanify.emit.text.loop_text import loop_text
from scanify.emit.text.map_text import in_its_place
from scanify.errors import CheckFailed

FRAMEWORK = Framework.NNX
HELPERS: Mapping[str, Helper] = {
    "same_statics": SAME_STATICS,
    "scan_layers": SCAN_LAYERS,
    "map_layers": MAP_LAYERS,
}
POLICY_AT_RUN_TIME = False

_IMPORTS = (Import("flax", "nnx"), Import("jax", "jax", whole=True))
_RNGS = re.compile(r"(^|_)rngs?$")
_DOTS = '"dots"'
_POLICIES = (None, "True", '"full"', "False", '"save_all"', _DOTS)


def refusal(plan: Plan, remat: str | None) -> str | None:
    """Return why a scan over the layers of a list that stays cannot express the loop."""
    if remat not in _POLICIES:
        return f"the target nnx has no remat policy like {remat}; it has none, full, save_all and dots"
    shared = next((name for name in plan.broadcast if _RNGS.search(name)), None)
    if shared is not None:
        return (
            f"each layer writes to `{shared}`, which the loop gives to all of them; give the layers streams of their "
            "own where they are built"
        )
    if plan.mapped is not None and any(xs.layers for xs in plan.xs):
        return "modules of two lists are walked together in an expression; write it as a `for` statement"
    return pieces.refusal(plan, "jax.lax.scan")


def unstackable(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str:
    """Return why: a list of modules stays a list."""
    return "a list of modules of Flax NNX stays as it is"


def needed(plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
    """Return both libraries, for the file of the loop."""
    return frozenset((plan.place.path, one) for one in _IMPORTS)


def edits(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return the edits of all plans, without imports and helpers."""
    made: list[Edit] = []
    given: dict[tuple[Path, int], set[str]] = {}  # the names already given in each scope
    for plan in plans:
        if not isinstance(plan.stack, CallStack):
            raise CheckFailed(
                f"{plan.place}: expected a loop whose list stays, for the target nnx; nothing was written; "
                "please report this"
            )
        scope = scope_start(context.texts[plan.place.path], plan.place.span.start)
        if plan.mapped is not None:
            made.append(_map_edit(plan, context, plan.mapped))
        else:
            made += _loop_edits(plan, context, given.setdefault((plan.place.path, scope), set()))
    return made


def elsewhere(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return no edits: the list is unchanged."""
    return []


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    layers, plan = _joined(plan)
    path = plan.place.path
    text, names = context.texts[path], context.names[path]
    loop = loop_text(plan, text, context.houses[path])
    new, style = pieces.NewNames(text, given), loop.style
    name = new(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}")
    parameters, unpacking = layer_parameters(plan, words(loop.body))
    function = function_over_layer(plan, loop, name, parameters, unpacking, given, pair=True)
    carry = f"({layout.pattern(plan.carry)})" if len(plan.carry) > 1 else plan.carry[0]
    collected = function.outputs.assigned.rpartition(", ")[2] if plan.collections else new.unread()
    arguments = [name, carry, layers, *_sources(plan, names["jax"])]
    arguments += _remat(context.remat, names["jax"])
    after = [layout.call(f"{carry}, {collected} = {names['scan_layers']}", arguments, style)]
    if plan.collections:
        after += [f"{style.step * depth}{line}" for depth, line in function.outputs.after]
    return pieces.in_place_of_loop(plan, loop, text, [], function, after)


def _joined(plan: Plan) -> tuple[str, Plan]:
    """Return the scanned layers, and the loop over them: layers of several lists are tuples, as with `zip`."""
    first, others = pieces.layers_of(plan), [xs for xs in plan.xs if xs.layers]
    if not others:
        return first, plan
    sources = ", ".join([first, *(layout.as_argument(xs.source, alone=False) for xs in others)])
    targets = ", ".join([plan.layer, *(xs.target for xs in others)])
    rest = tuple(xs for xs in plan.xs if not xs.layers)
    return f"zip({sources}, strict=True)", replace(plan, layer=f"({targets})", xs=rest)


def _map_edit(plan: Plan, context: Context, mapped: Mapped) -> Edit:
    """Replace independent layers, applied in order: without a carry, and with the outputs in a list."""
    path = plan.place.path
    names = context.names[path]
    parameters = ", ".join([plan.layer, *(xs.target for xs in plan.xs)])
    arguments = [f"lambda {parameters}: {mapped.element}", pieces.layers_of(plan), *_sources(plan, names["jax"])]
    if mapped.appends_to is None:
        return in_its_place(plan, names["map_layers"], arguments, None, context)
    loop = loop_text(plan, context.texts[path], context.houses[path])
    statement = layout.call(f"{mapped.appends_to}.extend({names['map_layers']}", arguments, loop.style, ")")
    return Edit(path, loop.start, loop.end, with_comments(statement, loop))


def _sources(plan: Plan, jax: str) -> list[str]:
    """Return the other xs of a loop; layer numbers are arrays."""
    return [f"{jax}.numpy.a{text}" if text.startswith("range(") else text for text in pieces.sources_of(plan, jax)]


def _remat(remat: str | None, jax: str) -> list[str]:
    """Return the arguments that select what the backward pass recomputes."""
    match remat:
        case "False" | '"save_all"':
            return []
        case '"dots"':
            return ["remat=True", f"policy={jax}.checkpoint_policies.dots_with_no_batch_dims_saveable"]
        case None | "True" | '"full"':
            return ["remat=True"]
    raise CheckFailed(f"expected a remat policy that the target nnx knows, got {remat}; nothing was written")
