"""Lengths: containers that the loop iterates over alongside the layers may have more or fewer elements than these.

The loop ends with the shortest, or asks an iterator for no more than it needs. A scan takes as many as there are
layers, and raises if it does not find them.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.beside import may_be_shorter
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lists.objects import home_of, only_value
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.project_facts import ProjectFacts

_OTHER = "?"
_DEEPEST = 6  # names that are followed; what a longer chain of them holds is the caller's
_COPIES = frozenset({"list", "tuple", "jax.numpy.array", "jax.numpy.asarray", "jax.numpy.stack"})
# Functions that make containers, with the position of the argument that is the number of elements.
_COUNTED = {"range": 0, "jax.random.split": 1, "jax.numpy.linspace": 2} | dict.fromkeys(
    (f"jax.numpy.{name}" for name in ("arange", "ones", "zeros")), 0
)
_ITERATORS = "list("  # what an iterator over a list is walked as: `list(iter(xs))`


def other_lengths(project: ProjectFacts, loop: Loop, layers: LayerList, shape: LoopShape) -> Iterator[str]:
    """Yield what has to be checked: that there are as many layers as elements in what has a length that is shown."""
    layer, home = layers.walk, home_of(project, loop.module, loop.node)
    count = layers.made[0].count if len(layers.made) == 1 else None
    for walk in shape.beside:
        if _is_other_part(walk, layer):
            yield f"`{loop.code(walk.source)}` has as many elements as `{loop.code(layer.source)}`, another part of it"
        elif _is_compared(walk) and may_be_shorter(loop, walk.source) and not layer.in_part:
            yield f"`{loop.code(walk.source)}` has as many keys as there are layers, though their number is computed"
        elif _is_compared(walk) and not layer.in_part:
            yield from _of_another_length(home, walk.base, count)
    if loop.index is not None and loop.index.numbers is not None and layer.element is None and not layer.in_part:
        yield from _of_another_length(home, loop.index.numbers, count)


def _of_another_length(home: Home, node: ast.expr, count: str | None) -> Iterator[str]:
    shown = _count(home, node)
    if shown is not None and shown != count:
        made = "" if shown == _OTHER else f": it is made with {shown}"
        yield f"`{ast.unparse(node)}` has as many elements as there are layers{made}"


def _count(home: Home, node: ast.expr, depth: int = 0) -> str | None:
    """The number of elements of a container as text, `_OTHER` if it is made in a way that is not listed.

    None if it is not shown to be made in the project. Names and fields are followed to the one expression that they
    are assigned.
    """
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return _OTHER if any(isinstance(each, ast.Starred) for each in parts) else str(len(parts))
        case ast.ListComp(generators=[level]) | ast.GeneratorExp(generators=[level]) if not level.ifs:
            return _count(home, level.iter, depth + 1)
        case ast.Call(args=args):
            name = home.builtin(node) or home.library(node)
            if name in _COPIES and args:
                return _count(home, args[0], depth + 1)
            counts = [*args[_COUNTED.get(name, 0) :], *(each.value for each in node.keywords if each.arg == "num")]
            return None if name not in _COUNTED else _number(home, counts[0]) if len(counts) == 1 else _OTHER
        case ast.Name() | ast.Attribute():
            stored = only_value(home, node) if depth < _DEEPEST else None
            return _count(*stored, depth + 1) if stored is not None else None
        case ast.BinOp(left=ast.List(), op=ast.Mult()):
            return _OTHER
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _OTHER if (_count(home, value, depth + 1) or "").isdecimal() else None
        case _:
            return None


def _number(home: Home, node: ast.expr) -> str | None:
    """A number, or a name with a number added to it or subtracted; a name alone is the caller's."""
    match node:
        case ast.Tuple(elts=[first, *_]):
            return _number(home, first)
        case ast.Constant(value=int()) | ast.BinOp(left=ast.Name(), op=ast.Add() | ast.Sub(), right=ast.Constant()):
            return ast.unparse(node)
        case ast.Attribute() if (stored := only_value(home, node)) is not None:
            return _number(home, stored[1]) if isinstance(stored[1], ast.Constant) else None
        case _:
            return None


def _is_compared(walk: Walk) -> bool:
    """True if all of a container is walked beside the layers, for as long as there are layers."""
    return walk.beside.startswith(_ITERATORS) or (walk.cut and walk.order in (Order.WHOLE, Order.REVERSED))


def _is_other_part(walk: Walk, layer: Walk) -> bool:
    """True if two parts of one list are walked: `zip(layers, layers[1:])`."""
    if not walk.cut or ast.unparse(walk.base) != ast.unparse(layer.base):
        return False
    return (walk.in_part or layer.in_part) and ast.unparse(walk.source) != ast.unparse(layer.source)
