"""A loop over a list of parameter trees, which are not modules, as `jax.lax.scan`: it needs jax alone."""

from collections.abc import Callable, Mapping, Set

from scanify.analysis.plan import Plan
from scanify.emit.edits import Edit
from scanify.emit.loops.function import flat, function_over_layer
from scanify.emit.loops.local_function import one_name
from scanify.emit.names.fresh_name import fresh
from scanify.emit.target import Context, Helper
from scanify.emit.targets import pieces
from scanify.emit.text import layout
from scanify.emit.text.loop_text import loop_text

Scan = Callable[[str, str | None, Mapping[str, str], layout.Style], tuple[list[str], str, str]]

STACK_TREES = Helper(r'''
def stack_trees(trees):
    """Trees of arrays, such as dicts, that differ in the values of their arrays alone, as one.

    Each of its arrays has the trees along axis 0. ValueError where they differ in more, or hold
    anything else than arrays.
    """
    trees = list(trees)
    if not trees:
        raise ValueError("expected at least one tree to stack, got none")

    def outline(path, leaf):
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            where = jax.tree_util.keystr(path)
            raise ValueError(f"expected arrays, got {leaf!r} at {where}")
        return leaf.shape, str(leaf.dtype), getattr(leaf, "weak_type", False)

    def outlined(tree):
        leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
        return structure, [(path, outline(path, leaf)) for path, leaf in leaves]

    structure, first = outlined(trees[0])
    for number, tree in enumerate(trees):
        other, leaves = outlined(tree)
        if other != structure:
            raise ValueError(
                "expected trees of one structure, got as trees 0 and "
                f"{number}:\n{structure}\n{other}"
            )
        for (path, expected), (_, got) in zip(first, leaves, strict=True):
            if got != expected:
                where = jax.tree_util.keystr(path)
                raise ValueError(
                    "expected arrays of one shape, dtype and weak_type, got in trees 0 and "
                    f"{number} at {where!r}: {expected} and {got}"
                )
    return jax.tree.map(lambda *leaves: jax.numpy.stack(leaves), *trees)
''')

ONE_EACH = Helper('''
def one_each(values, count):
    """One of the values for each tree, along axis 0: an array as it is, a list stacked."""
    if len(values) != count:
        raise ValueError(f"expected {count} values, one for each tree, got {len(values)}")
    if hasattr(values, "shape") and hasattr(values, "dtype"):
        return values
    if all(type(value) in (int, float) for value in values):
        values = [jax.numpy.asarray(value) for value in values]
    return stack_trees(values)
''')


def loop_over_trees(plan: Plan, context: Context, given: set[str], scanned: Scan) -> list[Edit]:
    """Return the edits of one loop."""
    path = plan.place.path
    text, names = context.texts[path], context.names[path]
    loop = loop_text(plan, text, context.houses[path])
    new, style = pieces.NewNames(text, given), loop.style
    name = new(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}")
    parameters, unpacking = _parameters(plan, new.taken | given)
    function = function_over_layer(plan, loop, name, parameters, unpacking, given, pair=True)
    container = pieces.layers_of(plan)
    sources = pieces.sources_of(plan, names["jax"])
    stacked, begin = f"{names['stack_trees']}({container})", list[str]()
    if sources:
        each = [f"{names['one_each']}({source}, len({container}))" for source in sources]
        layers = new("layers")
        begin = [layout.call(f"{layers} = ", [stacked, *each], style)]
        stacked = layers
    carry = f"({layout.pattern(plan.carry)})" if len(plan.carry) > 1 else plan.carry[0]
    collected = function.outputs.assigned.rpartition(", ")[2] if plan.collections else new.unread()
    remat, scan, applied = scanned(name, context.remat, names, style)
    after = [*remat, layout.call(f"{carry}, {collected} = {scan}", [applied, carry, stacked], style)]
    if plan.collections:
        after.append(f"{collected} = {names['unstack_layers']}({collected}, len({container}))")
        after += [f"{style.step * depth}{line}" for depth, line in function.outputs.after]
    return pieces.in_place_of_loop(plan, loop, text, begin, function, after)


def _parameters(plan: Plan, used: Set[str]) -> tuple[list[str], list[str]]:
    """Return the function's parameters, and the lines that unpack them into the loop's names."""
    targets = [plan.layer, *(xs.target for xs in plan.xs)]
    unpacking, state = [], plan.carry[0]
    if len(plan.carry) > 1:
        state = fresh("carry", used)
        unpacking.append(f"{layout.pattern(plan.carry)} = {state}")
    if len(targets) == 1 and plan.layer.isidentifier():
        return [state, plan.layer], unpacking
    layer = fresh("layer", used | {state})
    pattern = flat(targets[0]) if len(targets) == 1 else ", ".join(targets)
    return [state, layer], [*unpacking, f"{pattern} = {layer}"]
