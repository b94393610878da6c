"""Containers that a loop iterates over alongside its layers: a scan needs their length and all of their elements.

The loop ends with the shortest container, and takes no more from an iterator than it needs. A scan takes as many
elements as there are layers, and raises if there are not as many.
"""

import ast
from collections.abc import Iterator, Set

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.language.loop import LoopObligations
from scanify.analysis.language.types import Array, Items, Static, options
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import LayerList, Reason
from scanify.analysis.lists.objects import home_of, only_value
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.project_facts import ProjectFacts

_NOT_IN_ORDER = {
    "dict": "is a dict, which gives its keys",
    "iterator": "may be an iterator, which is walked once",
    "set": "has no order",
    "plain": "is a text or a number",
}
_COPIES = frozenset({"list", "tuple", "jax.numpy.array", "jax.numpy.asarray", "jax.numpy.stack"})
# Functions that make containers, with the position of the argument for the number of elements.
_COUNTED = {"range": 0, "jax.random.split": 1, "jax.numpy.linspace": 2} | dict.fromkeys(
    (f"jax.numpy.{name}" for name in ("arange", "ones", "zeros")), 0
)


def iterator_problems(loop: Loop, layers: LayerList, shape: LoopShape, body: LoopObligations) -> Iterator[Reason]:
    """Yield the reasons why a scan cannot iterate over a container as the loop does."""
    for walk in shape.beside:
        place = loop.module.place(walk.source) if hasattr(walk.source, "lineno") else loop.place
        for option in options(body.sources.get(walk)):
            kind = option.kind if isinstance(option, Items) else "" if isinstance(option, Array) else "unknown"
            kind = "plain" if isinstance(option, Static) else kind
            if walk.via == "iter" and kind in ("iterator", "plain", "unknown"):
                text = f"`{loop.code(walk.base)}` may be an iterator: a scan takes all of it, the loop what it needs"
                yield "SCN213", text, place
            elif walk.element is not None or walk.beside.startswith("list("):
                continue
            elif kind in _NOT_IN_ORDER and (kind != "dict" or walk.order is Order.WHOLE):
                text = f"`{loop.code(walk.source)}` {_NOT_IN_ORDER[kind]}; a scan needs an array or a list there"
                yield "SCN213", text, place
    base, found = layers.walk.base, options(body.sources.get(layers.walk))
    alone = not shape.beside and loop.index is None
    if alone or not isinstance(base, ast.Name) or layers.walk.source is not base:
        return
    if any(isinstance(each, Items) and each.kind == "iterator" for each in found):
        text = f"`{base.id}` may be an iterator, which has no length and may be used up"
        yield "SCN213", text, loop.module.place(base)


# -- lengths -----------------------------------------------------------------------------------------------------------


def other_lengths(project: ProjectFacts, loop: Loop, layers: LayerList, shape: LoopShape) -> Iterator[str]:
    """Yield the condition for each container that must be as long as the layers, but is not built with their count."""
    layer, home = layers.walk, home_of(project, loop.module, loop.node)
    counts = {f"len({loop.code(layer.base)})", *(each.count for each in layers.made[:1] if len(layers.made) == 1)}
    walked = [(walk.source, walk.base) for walk in shape.beside if not layer.in_part and _is_compared(walk)]
    if loop.index is not None and loop.index.numbers is not None and layer.element is None and not layer.in_part:
        walked.append((loop.index.numbers, loop.index.numbers))
    for source, base in walked:
        if not _is_as_long(home, base, counts):
            yield f"`{loop.code(source)}` has as many elements as there are layers"
    for walk in shape.beside:
        part = walk.cut and (walk.in_part or layer.in_part) and ast.unparse(walk.base) == ast.unparse(layer.base)
        if part and ast.unparse(walk.source) != ast.unparse(layer.source):  # `zip(layers, layers[1:])`
            yield f"`{loop.code(walk.source)}` has as many elements as `{loop.code(layer.source)}`, another part of it"


def _is_compared(walk: Walk) -> bool:
    """True if a container must be as long as the layers: the loop takes all of it, or it is `list(iter(xs))`."""
    return walk.beside.startswith("list(") or (walk.cut and walk.order in (Order.WHOLE, Order.REVERSED))


def _is_as_long(home: Home, node: ast.expr, counts: Set[str | None], depth: int = 0) -> bool:
    """False if the source shows how the container is built, and not with one of `counts`."""
    match node:
        case ast.Name() | ast.Attribute():
            stored = only_value(home, node) if depth < 6 else None
            return stored is None or _is_as_long(*stored, counts, depth + 1)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return str(len(parts)) in counts and not any(isinstance(each, ast.Starred) for each in parts)
        case ast.ListComp(generators=[level]) | ast.GeneratorExp(generators=[level]) if not level.ifs:
            return _is_as_long(home, level.iter, counts, depth + 1)
        case ast.Call(args=args):
            name = home.builtin(node) or home.library(node)
            if name in _COPIES and args:
                return _is_as_long(home, args[0], counts, depth + 1)
            given = [*args[_COUNTED.get(name, 0) :], *(each.value for each in node.keywords if each.arg == "num")]
            return name not in _COUNTED or (len(given) == 1 and _is_count(home, given[0], counts))
        case ast.ListComp() | ast.GeneratorExp() | ast.BinOp(left=ast.List()) | ast.Subscript(slice=ast.Slice()):
            return False
        case _:
            return True


def _is_count(home: Home, node: ast.expr, counts: Set[str | None]) -> bool:
    """True if a number is one of `counts`, or a name whose value is not shown."""
    if isinstance(node, ast.Tuple) and node.elts:
        return _is_count(home, node.elts[0], counts)
    if ast.unparse(node) in counts or not isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node) in counts
    stored = only_value(home, node)
    return stored is None or _is_count(*stored, counts)
