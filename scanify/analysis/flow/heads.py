"""Problems in the head of a loop: its layers, its other iterables, and its counter."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.names import target_names
from scanify.analysis.lower.loop import Loop, Order, Problem, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import arithmetic, code, container_text

_BESIDE = "is walked beside the layers; a scan needs an array or a list there"
_MAKE_LIST = "make an array or a list of it before the loop"


def head_problems(loop: Loop, layer: Walk) -> Iterator[Problem]:
    """Yield the problems of a head whose layers are the elements of `layer`."""
    if layer.order is Order.OTHER:
        way = code(loop.module, layer.source)
        yield Problem("SCN213", f"the loop walks `{way}`, which does not show the layers as a list", layer.source)
    if loop.scope.function.is_class:
        yield Problem(
            "SCN212",
            "the loop stands in the body of a class, whose names no function sees",
            loop.node,
            "move the loop into a function",
        )
    yield from _counter_problems(loop)
    if loop.index is not None and loop.index.read and loop.index.numbers is None:
        again = next((base for base in layer.bases if container_text(base) is None), None)
        if again is not None:
            what = f"`{code(loop.module, again)}` is evaluated again to count the layers, and may give others"
            yield Problem("SCN208", what, again)
    names = [name for walk in loop.walks for name in target_names(walk.target)]
    names += target_names(loop.index.target) if loop.index is not None else []
    twice = next((name for name in target_names(layer.target) if names.count(name) > 1), None)
    if twice is not None:
        yield Problem("SCN213", f"the loop assigns `{twice}` twice in each iteration", layer.target)
    for walk in loop.walks:
        if not _binds_names(walk.target):
            text = code(loop.module, walk.target)
            yield Problem("SCN207", f"the loop assigns `{text}` in every iteration; a scan does it once", walk.target)
        if walk is not layer:
            yield from _beside_problems(loop, walk)
        if loop.element is not None and not isinstance(walk.target, ast.Name):
            text = code(loop.module, walk.target)
            yield Problem(
                "SCN213", f"each element is taken apart, into `{text}`; only a part of it is a layer", walk.target
            )


def _counter_problems(loop: Loop) -> Iterator[Problem]:
    index = loop.index
    if index is None:
        return
    shadowed = [name for name in ("range", "len", "list") if loop.scope.binding(name) is not None]
    if index.read and (shadowed or not isinstance(index.target, ast.Name)):
        what = code(loop.module, index.target)
        text = f"the body uses the layer's index `{what}`, and `range` or `len` is another name here"
        yield Problem("SCN208", text if shadowed else f"the index `{what}` is taken apart", index.target)
    if index.first is not None and not arithmetic(index.first):
        what = code(loop.module, index.first)
        text = f"`enumerate` counts from `{what}`, which may be another number when it is asked again"
        yield Problem("SCN208", text, index.first)


def _binds_names(target: ast.expr) -> bool:
    """True if a target only binds names."""
    return not any(isinstance(each, ast.Attribute | ast.Subscript) for each in nodes_in(target))


def _beside_problems(loop: Loop, walk: Walk) -> Iterator[Problem]:
    if walk.element is not None:
        return
    name = loop.scope.builtin(walk.source)
    function = walk.source.func if isinstance(walk.source, ast.Call) else None
    lazy = (loop.scope.qualified(function) or "").startswith("itertools.") and len(walk.bases) == 1
    if name == "range":
        yield Problem("SCN208", "another `range` is walked beside the layers", walk.source)
    elif lazy or name in ("zip", "enumerate", "map", "filter") or walk.order is Order.OTHER:
        yield Problem("SCN213", f"`{code(loop.module, walk.source)}` {_BESIDE}", walk.source, _MAKE_LIST)
    elif walk.beside.startswith("list(") and loop.scope.binding("list") is not None:
        yield Problem("SCN213", f"`{walk.via}(...)` {_BESIDE}, and `list` is another name here", walk.source)
