"""Values that the caller passes as one per layer and gets back as one per layer, such as the caches of a decoder.

A scan copies them into a stack and out of it in each call, which can take many times as long as layers that decode one
token. They are recognised by their way through the loop and by no name: the loop takes a value for each layer from what
a caller passed, and collects what comes of it.
"""

import ast
from collections.abc import Iterator, Sequence, Set

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.flow.statements import assignments, statements_in
from scanify.analysis.lower.bound import bound_by
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import children, mentions, names_in, nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of

_ARRAYS = ("jax.", "numpy.", "einops.")
_COST = (
    "layers that decode one token took 9 to 22 times as long; stack the values once, outside of the step, and pass and "
    "return the stack (`scan_via` with `in_axes`), or leave the loop"
)


def round_trips(shape: LoopShape) -> Iterator[str]:
    """The obligation of a loop whose values come and go as one per layer; nothing for other loops.

    Layers that scan over time themselves take much longer than a copy of the states that they begin with.
    """
    loop = shape.loop
    calls = (each for each in nodes_in(*loop.body) if isinstance(each, ast.Call))
    if any(loop.scope.qualified(each.func) == "jax.lax.scan" for each in calls):
        return
    first = len(shape.xs) - len(shape.beside)
    walks = [
        walk
        for xs, walk in zip(shape.xs[first:], shape.beside, strict=True)
        if not xs.array and _is_passed(shape, walk.source)
    ]
    taken = [node for node in nodes_in(*loop.body) if _takes(shape, node)]
    if not walks and not taken:
        return
    made = _made_of(shape, {name for walk in walks for name in target_names(walk.target)}, taken)
    for name, values in shape.collected.values.items() if shape.carry else ():
        if any(_mentions(value, made, taken) for value in values) and _goes_back(loop, name):
            source = next(iter((*(walk.source for walk in walks), *taken)))
            what = f"`{loop.module.code(source)}` (line {loop.module.place(source).span.line})"
            yield f"each call copies {what} into a stack and `{name}` out of it: {_COST}"
            return


def _is_passed(shape: LoopShape, node: ast.AST | None, seen: Set[str] = frozenset()) -> bool:
    """True if an expression may hold values that come one by one, from a caller or from the step before."""
    loop = shape.loop
    if node is None or (isinstance(node, ast.Call) and _gives_array(loop, node)):
        return False
    if not isinstance(node, ast.Name):
        return any(_is_passed(shape, each, seen) for each in children(node))
    holder = loop.scope.binding(node.id)
    if holder is None or holder.parent is None or node.id == loop.scope.self_name:
        return False
    if node.id in seen:
        return node.id in holder.params  # `caches = list(caches)`
    if node.id in shape.ys and any(isinstance(each, ast.For | ast.While) for each in ancestors(loop.module, loop.node)):
        return True
    given = assignments(getattr(holder.node, "body", ()), node.id)
    if node.id in holder.params and (not given or seen):
        return True
    return any(_is_passed(shape, getattr(each, "value", None), {*seen, node.id}) for each in given)


def _takes(shape: LoopShape, node: ast.AST) -> bool:
    """True of what takes a layer's value from a collection of the caller: `caches[layer.name]`, `caches.get(i)`."""
    match node:
        case ast.Subscript(value=holder, slice=key, ctx=ast.Load()):
            pass
        case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[key, *_]):
            pass
        case _:
            return False
    own = {*shape.loop.targets, *shape.carry}
    return bool(names_in([key]) & {*shape.loop.targets}) and not names_in([holder]) & own and _is_passed(shape, holder)


def _made_of(shape: LoopShape, given: Set[str], taken: Sequence[ast.AST]) -> set[str]:
    """The names that hold what is made of a layer's own value, without carries."""
    made = set(given)
    for statement in [*statements_in(shape.loop.body)] * 2:  # a name may be read above where it is bound
        if _mentions(statement, made, taken):
            made |= bound_by(statement) - set(shape.carry)
    return made


def _mentions(node: ast.AST, names: Set[str], taken: Sequence[ast.AST]) -> bool:
    return any(each in taken or (isinstance(each, ast.Name) and each.id in names) for each in nodes_in(node))


def _goes_back(loop: Loop, name: str) -> bool:
    """True unless all that is done with what is collected is to make one array of it."""
    within = set(mentions(name, loop.node))
    uses = mentions(name, *getattr(loop.scope.function.node, "body", ()))
    for use in uses:
        call = parent_of(loop.module, use)
        reduced = isinstance(call, ast.Call) and use in call.args and _gives_array(loop, call)
        if isinstance(use.ctx, ast.Load) and use not in within and not reduced:
            return True
    return False


def _gives_array(loop: Loop, call: ast.Call) -> bool:
    name = loop.scope.qualified(call.func) or ""
    return name.startswith(_ARRAYS) or loop.scope.builtin(call) in ("len", "range", "sum")
