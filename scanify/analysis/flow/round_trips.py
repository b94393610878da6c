"""Values that the caller passes and gets back one per layer, such as the caches of a decoder.

A scan copies them into a stack and out of it in each call, which can take many times as long as layers that decode
one token.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.flow.statements import assignments, statements_in
from scanify.analysis.lower.bound import bound_by
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import names_in, nodes_in

_COST = (
    "layers that decode one token took 9 to 22 times as long; stack the values once, outside of the step, and pass and "
    "return the stack (`scan_via` with `in_axes`), or leave the loop"
)


def round_trips(shape: LoopShape) -> Iterator[str]:
    """Yield the obligation of a loop whose values come and go one per layer.

    Layers that scan over time themselves take much longer than a copy of their initial states, so they get none.
    """
    loop, first = shape.loop, len(shape.xs) - len(shape.beside)
    calls = [each for each in nodes_in(*loop.body) if isinstance(each, ast.Call)]
    if not shape.carry or any(loop.scope.qualified(each.func) == "jax.lax.scan" for each in calls):
        return
    beside = zip(shape.xs[first:], shape.beside, strict=True)
    walks = [walk for xs, walk in beside if not xs.array and _is_passed(shape, walk.source)]
    taken: dict[ast.AST, ast.expr] = {node: holder for node, holder in _taken(loop) if _is_passed(shape, holder)}
    made = {name for walk in walks for name in target_names(walk.target)}
    for statement in [*statements_in(loop.body)] * 2:  # a name may be read above where it is bound
        if made & names_in([statement]) or not taken.keys().isdisjoint(nodes_in(statement)):
            made |= bound_by(statement) - set(shape.carry)
    for name, values in shape.collected.values.items():
        if made & names_in(values) or not taken.keys().isdisjoint(nodes_in(*values)):
            source = next(iter((*(walk.source for walk in walks), *taken)))
            what = f"`{loop.module.code(source)}` (line {loop.module.place(source).span.line})"
            yield f"each call copies {what} into a stack and `{name}` out of it: {_COST}"
            return


def _taken(loop: Loop) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the values of one layer that a body takes from a container: `caches[layer.name]`, `caches.get(i)`."""
    for node in nodes_in(*loop.body):
        match node:
            case ast.Subscript(holder, key, ast.Load()) | ast.Call(ast.Attribute(holder, "get"), [key, *_]) if names_in(
                [key]
            ) & {*loop.targets}:
                yield node, holder


def _is_passed(shape: LoopShape, node: ast.expr) -> bool:
    """True if a container may hold one value per layer, from a caller or from the step before."""
    function = shape.loop.scope.function
    names = names_in([node])
    for name in names & function.locals:
        for each in assignments(getattr(function.node, "body", ()), name):
            value = each.value if isinstance(each, ast.Assign | ast.AnnAssign) else None
            names |= names_in([value]) if value is not None else set()
    return bool(names & {*function.params, *shape.ys} - {shape.loop.scope.self_name, *shape.carry})
