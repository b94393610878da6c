"""The target `linen`: loops over modules of Flax Linen become `nn.scan` over one module with stacked variables.

`nn.scan` lifts the variables of the module passed first to a function: parameters, statistics, caches and sown values
are per layer, and so are the keys of its random streams (flax.linen.transforms.scan, 0.12).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scanify.analysis.facts import Place
from scanify.analysis.linen_layers import LinenLayers, LinenModule
from scanify.analysis.plan import Framework, Plan
from scanify.emit.edits import Edit
from scanify.emit.loops.function import function_over_layer
from scanify.emit.loops.local_function import layer_parameters, one_name, scope_start, words
from scanify.emit.names.imports import Import
from scanify.emit.target import Context, Helper
from scanify.emit.targets import pieces
from scanify.emit.targets.written import UNSTACK_LAYERS
from scanify.emit.text import layout
from scanify.emit.text.loop_text import loop_text, step_of
from scanify.emit.text.newlines import indent_of, line_start, newline_of
from scanify.errors import CheckFailed

FRAMEWORK = Framework.LINEN
HELPERS: Mapping[str, Helper] = {
    "per_layer": Helper('''
def per_layer(values, count):
    """One of the values for each layer, along axis 0: an array as it is, a list stacked."""
    if len(values) != count:
        raise ValueError(f"expected {count} values, one for each layer, got {len(values)}")
    if isinstance(values, jax.Array):
        return values
    return jax.tree.map(lambda *leaves: jax.numpy.stack(list(map(jax.numpy.asarray, leaves))), *values)
'''),
    "unstack_layers": UNSTACK_LAYERS,
    "chunks_of": Helper('''
def chunks_of(count):
    """How many chunks of how many layers `count` layers are: of the numbers that divide it those nearest its root."""
    size = max(number for number in range(1, count + 1) if number * number <= count and count % number == 0)
    return count // size, size
'''),
}
POLICY_AT_RUN_TIME = False

_LINEN, _JAX = Import("flax", "linen"), Import("jax", "jax", whole=True)
_DOTS, _NESTED = '"dots"', '"nested"'
_POLICIES = (None, "True", '"full"', "False", '"save_all"', _DOTS, _NESTED)


def refusal(plan: Plan, remat: str | None) -> str | None:
    """Return why `nn.scan` cannot express the loop."""
    if remat not in _POLICIES:
        return f"the target linen has no remat policy like {remat}; it has none, full, nested, save_all and dots"
    if _layers(plan).remat and remat is not None:
        return (
            "the class of the layers is one of `nn.remat` already; rewrite without --remat, which leaves that as it is"
        )
    if remat == _NESTED and (plan.xs or plan.collections):
        what = f"gives each layer its own `{plan.xs[0].target}`" if plan.xs else "collects what each layer gives"
        return f"nested is `nn.remat_scan` there, which hands a carry from layer to layer, and this loop {what}"
    return pieces.refusal(plan, "nn.scan")


def unstackable(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str | None:
    """Return None: no list is left."""
    return None


def needed(plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
    """Return flax, and jax if there are xs, collected outputs or a policy that needs it."""
    uses_jax = plan.xs or plan.collections or remat == _DOTS
    return frozenset((plan.place.path, one) for one in ((_LINEN, _JAX) if uses_jax else (_LINEN,)))


def edits(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return the edits of all plans, without imports and helpers."""
    made: list[Edit] = []
    given: dict[tuple[Path, int], set[str]] = {}  # the names already given in each scope
    sites: set[Place] = set()
    for plan in plans:
        scope = scope_start(context.texts[plan.place.path], plan.place.span.start)
        made += _loop_edits(plan, context, given.setdefault((plan.place.path, scope), set()))
        module = _layers(plan).module
        if module.site is not None and module.site not in sites:
            sites.add(module.site)
            made.append(_site_edit(module, module.site, context))
    return made


def elsewhere(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return no edits: a list that is used elsewhere stays."""
    return []


def _layers(plan: Plan) -> LinenLayers:
    if plan.linen is None:
        raise CheckFailed(
            f"{plan.place}: expected a loop over modules of Flax Linen for the target linen; nothing was written; "
            "please report this"
        )
    return plan.linen


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    path, layers = plan.place.path, _layers(plan)
    text, names = context.texts[path], context.names[path]
    loop = loop_text(plan, text, context.houses[path])
    new, style = pieces.NewNames(text, given), loop.style
    name = new(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}")
    parameters, unpacking = layer_parameters(plan, words(loop.body))
    nested = context.remat == _NESTED
    if not plan.xs and not nested:
        parameters.append(new.unread())
    function = function_over_layer(plan, loop, name, parameters, unpacking, given, pair=not nested)
    carry = f"({layout.pattern(plan.carry)})" if len(plan.carry) > 1 else plan.carry[0]
    module = layers.held or layout.call(layers.module.builds, layers.module.arguments, style)
    linen = names["linen"]
    if nested:
        lifted = [name, f"lengths={names['chunks_of']}({layers.count})"]
        head = f"{function.outputs.assigned} = {linen}.remat_scan"
        after = [layout.curried(head, lifted, [module, carry], style)]
        return pieces.in_place_of_loop(plan, loop, text, [], function, after)
    collected = function.outputs.assigned.rpartition(", ")[2] if plan.collections else new.unread()
    lifted = [
        *_remat(name, layers, context.remat, names),
        "variable_axes={True: 0}",
        "split_rngs={True: True}",
        f"length={layers.count}",
    ]
    applied = [module, carry, *(_sources(plan, layers, names) or ["None"])]
    after = [layout.curried(f"{carry}, {collected} = {linen}.scan", lifted, applied, style)]
    if plan.collections:
        after.append(f"{collected} = {names['unstack_layers']}({collected}, {layers.count})")
        after += [f"{style.step * depth}{line}" for depth, line in function.outputs.after]
    return pieces.in_place_of_loop(plan, loop, text, [], function, after)


def _sources(plan: Plan, layers: LinenLayers, names: Mapping[str, str]) -> list[str]:
    """Return the xs as trees of arrays with the layers along their first axis."""
    return [
        f"{names['jax']}.numpy.a{text}"
        if text.startswith("range(")
        else f"{names['per_layer']}({text}, {layers.count})"
        for text in _counted(plan, layers, names)
    ]


def _counted(plan: Plan, layers: LinenLayers, names: Mapping[str, str]) -> list[str]:
    """Return the xs, with `len` of the list replaced by the number of layers."""
    texts = pieces.sources_of(plan, names.get("jax", "jax"))
    return [text.replace(f"len({layers.held})", layers.count) for text in texts] if layers.held else texts


def _remat(name: str, layers: LinenLayers, remat: str | None, names: Mapping[str, str]) -> list[str]:
    """Return the scanned function under a remat policy. Inside a scan, `prevent_cse` is not needed."""
    match remat:
        case "False" | '"save_all"':
            return [name]
        case None if layers.remat:
            return [name]
        case None | "True" | '"full"':
            return [f"{names['linen']}.remat({name}, prevent_cse=False)"]
        case '"dots"':
            policy = f"policy={names['jax']}.checkpoint_policies.dots_with_no_batch_dims_saveable"
            return [f"{names['linen']}.remat({name}, prevent_cse=False, {policy})"]
    raise CheckFailed(f"expected a remat policy that the target linen knows, got {remat}; nothing was written")


def _site_edit(built: LinenModule, site: Place, context: Context) -> Edit:
    """Write one module in place of the list."""
    text = context.texts[site.path]
    line = line_start(text, site.span.start)
    indent = indent_of(text[line : site.span.start])
    style = context.houses[site.path].style(indent, step_of(text, indent), newline_of(text))
    head = text[line + len(indent) : site.span.start]
    whole = layout.call(f"{head}{built.builds}", built.arguments, style)
    return Edit(site.path, site.span.start, site.span.end, whole.removeprefix(head))
