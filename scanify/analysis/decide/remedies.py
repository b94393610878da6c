"""One-line remedies for refused loops: the shortest advice of each rule's page."""

from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.plan import Plan, Refusal

REMEDIES = {
    "SCN201": "build the list in this project, or annotate the field or parameter that it comes from: `list[Block]`",
    "SCN202": "hold the layers of each class in a list of their own; where each is another one, keep the loop",
    "SCN203": "build layers that should be alike with equal arguments, in one comprehension; else keep the loop",
    "SCN204": "for shared weights hold one layer, and apply it by `jax.lax.scan(..., None, length=n)`; else build each",
    "SCN205": "keep the loop, or run every layer and choose with `jnp.where` which result to keep",
    "SCN206": "collect in a new list of this function, which the loop only appends to: `outs = []`",
    "SCN207": "move it out of the loop: walk `zip(layers, keys)`, `zip(layers, reversed(skips))`; print by `jax.debug`",
    "SCN208": "count through `range(len(layers))`, and walk what a number stands for: `zip(layers, scales)`",
    "SCN209": "compute the value again after the loop, or assign it an array before the loop",
    "SCN210": "assign the carry an array before the loop, and what a layer gives to it in the loop",
    "SCN211": "give the function the value as an argument, or define it inside of the loop",
    "SCN212": "move the statement into the layer, or out of the loop",
    "SCN213": "walk the list itself, with `zip` or `enumerate` where something goes with it",
    "SCN214": "use `--stack call`, which leaves the list as it is",
    "SCN215": "annotate the argument with one class, `list[Block]`, where its layers are all of that class",
}


def refused(plan: Plan | Refusal, rule: str, reason: str, remedy: str = "") -> Refusal:
    """Refuse the loop of a plan, or give a refusal another reason."""
    described = {name: getattr(plan, name) for name in ("place", "kind", "container", "carry", "xs", "broadcast", "ys")}
    return Refusal(rule=rule, reason=reason, remedy=remedy or REMEDIES.get(rule, ""), **described)


def open_rule(layers: LayerList) -> str:
    """Return the rule for a loop whose layers the source leaves open."""
    if layers.made and not layers.open:
        return "SCN203"
    return "SCN215" if layers.parameter else "SCN201"
