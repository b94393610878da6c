"""The form of `--target haliax` if haliax or levanter has an `ArrayStacked`: folds and scans with `in_axes`.

haliax had the class in `haliax.nn` up to marin-haliax 0.2.224; since then marin-levanter has it, in
`levanter.layers.stacked`, with the same fields and methods. An argument of `in_axes` 0 must be one array there, so
layers index anything else by their number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scanify.analysis.plan import Framework, Mapped, PerLayer, Plan
from scanify.analysis.stack import CallStack, InitStack
from scanify.emit.edits import Edit
from scanify.emit.loops.commented import with_comments
from scanify.emit.loops.function import flat, function_over_layer
from scanify.emit.loops.layer_call import fold_call
from scanify.emit.loops.local_function import layer_parameters, one_name
from scanify.emit.loops.sites import Stacking
from scanify.emit.names.imports import Import
from scanify.emit.target import Context, Helper
from scanify.emit.targets import haliax, pieces
from scanify.emit.targets.written import AT_LAYER, IN_ARRAYS, PER_LAYER, STACK_LAYERS, UNSTACK_LAYERS
from scanify.emit.text import layout
from scanify.emit.text.loop_text import loop_text

HALIAX, LEVANTER = "haliax.nn.ArrayStacked", "levanter.layers.stacked.ArrayStacked"


@dataclass(frozen=True)
class Arrays:
    """The emitter for the `ArrayStacked` of one library, with the imports of the class and of its policies."""

    stack: Import
    policy: Import
    FRAMEWORK: Framework = Framework.EQUINOX
    POLICY_AT_RUN_TIME: bool = False
    HELPERS: Mapping[str, Helper] = field(
        default_factory=lambda: {
            "stack_layers": STACK_LAYERS,
            "array_stacked": IN_ARRAYS,
            "per_layer": PER_LAYER,
            "at_layer": AT_LAYER,
            "unstack_layers": UNSTACK_LAYERS,
        }
    )

    @property
    def name(self) -> str:
        """Return the full name of the class."""
        return f"{self.stack.module}.{self.stack.name}"

    def refusal(self, plan: Plan, remat: str | None) -> str | None:
        """Return why an `ArrayStacked` cannot express the loop."""
        if plan.mapped is not None and (other := next((xs for xs in plan.xs if not _is_array(xs)), None)) is not None:
            return f"{self.name} takes arrays, and `{other.source}` is not shown to be one, and this is an expression"
        return haliax.beyond(plan, remat, self.name)

    def unstackable(self, plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str | None:
        """Return why the list cannot be built stacked."""
        return pieces.unstackable(plan, plans, texts)

    def needed(self, plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
        """Return the libraries for every file that may hold a helper."""
        imports = (*haliax.PLAIN_IMPORTS, self.stack, self.policy)
        return frozenset((path, one) for path in haliax.paths_of(plan) for one in imports)

    def edits(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """Return the edits of all plans, without imports and helpers."""
        return pieces.edits_of(plans, context, _loop_edits, _map_edit, _stacking(context), _length)

    def elsewhere(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """Replace `len` of a list by the length of the stack."""
        return pieces.lengths_elsewhere(plans, context, _length)


OF_HALIAX = Arrays(Import("haliax.nn", "ArrayStacked"), Import("haliax", "ScanCheckpointPolicy"))
OF_LEVANTER = Arrays(
    Import("levanter.layers.stacked", "ArrayStacked"),
    Import("levanter.layers.scan_checkpoint", "ScanCheckpointPolicy"),
)


def _length(stack: str, names: Mapping[str, str]) -> str:
    return f"{stack}.num_layers"


def _stacking(context: Context) -> Callable[[Path], Stacking]:
    """Write `array_stacked(layers, policy)`, which returns an `ArrayStacked`."""

    def stacking(path: Path) -> Stacking:
        names = context.names[path]
        name = names["ArrayStacked"]

        def annotation(element: str | None) -> str:
            return name if element is None else f"{name}[{element}]"

        return Stacking(names["array_stacked"], (haliax.policy_of(context.remat),), annotation)

    return stacking


def _is_array(xs: PerLayer) -> bool:
    return xs.array and xs.axis == 0


def _map_edit(plan: Plan, context: Context, mapped: Mapped) -> Edit:
    """Replace independent layers, applied in order, by a scan without a carry."""
    path = plan.place.path
    names = context.names[path]
    stack = _stack(plan, context)
    count = _length(stack, names) if isinstance(plan.stack, InitStack) else f"len({plan.container})"
    given = ", ".join(["None", *(layout.as_argument(xs.source, alone=False) for xs in plan.xs)])
    applied = ", ".join([haliax.function_of_one(plan, context, mapped), *_axes(len(plan.xs))])
    return haliax.taken_apart(plan, context, mapped, [f"{stack}.scan_via({applied})({given})[1]", count])


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    path = plan.place.path
    text, names = context.texts[path], context.names[path]
    loop = loop_text(plan, text, context.houses[path])
    arrays = all(map(_is_array, plan.xs))
    known = fold_call(plan, plan.carry[0]) if arrays else None
    if known is not None:
        method, first, second = known
        head = f"{plan.carry[0]} = {_stack(plan, context)}.{method}"
        call = layout.call(head, first, loop.style)
        statement = call if second is None else layout.curried(head, first, second, loop.style)
        return [Edit(path, loop.start, loop.end, with_comments(statement, loop))]
    new, style = pieces.NewNames(text, given), loop.style
    name = new(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}")
    stack, begin = _stack(plan, context), []
    if isinstance(plan.stack, CallStack) and (plan.xs or plan.collections):
        layers = new("layers")
        begin, stack = [f"{layers} = {stack}"], layers
    count = _length(stack, names)
    parameters, unpacking = layer_parameters(plan)
    sources = [layout.as_argument(xs.source, alone=False) for xs in plan.xs]
    if not arrays:
        rows, number = new("rows"), new("number")
        each = [f"{names['per_layer']}({one}, {count})" for one in pieces.sources_of(plan, names["jax"])]
        begin.append(f"{rows} = {', '.join(each)}")
        targets = [xs.target for xs in plan.xs]
        pattern = flat(targets[0]) if len(targets) == 1 else ", ".join(targets)
        parameters, unpacking = layer_parameters(replace(plan, xs=()))
        parameters.append(number)
        unpacking.append(f"{pattern} = {names['at_layer']}({rows}, {number})")
        sources = [f"{names['jax']}.numpy.arange({count})"]
    function = function_over_layer(plan, loop, name, parameters, unpacking, given)
    scan = haliax.Scan(stack, count, [name, *_axes(len(sources))], sources)
    after = haliax.scanned(plan, scan, function.outputs, style, names["unstack_layers"])
    return pieces.in_place_of_loop(plan, loop, text, begin, function, after)


def _axes(count: int) -> list[str]:
    return [f"in_axes={layout.tuple_display(['0'] * count)}"] if count else []


def _stack(plan: Plan, context: Context) -> str:
    if isinstance(plan.stack, InitStack):
        return plan.container
    names = context.names[plan.place.path]
    return f"{names['array_stacked']}({pieces.layers_of(plan)}, {haliax.policy_of(context.remat)})"
