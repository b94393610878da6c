"""Independent layers: equal ones are applied by one `jax.vmap`, and the result is a list."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from scanify.nn.arguments.axes import InAxes, normal_axes, parameter_names
from scanify.nn.covers.apply_cover import Piece, map_kinds
from scanify.nn.programs.layer_call import trace_call
from scanify.nn.programs.looped_call import loop_call
from scanify.nn.programs.one_by_one import one_by_one
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.trees.boxed import boxed, unboxed


def map_via(
    fn: Callable[..., Any],
    layers: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    in_axes: InAxes,
    unrolled: bool,
) -> list[Any]:
    """Return `[fn(layer, *args, **kwargs) for layer in layers]`, where `layers` have a `Ref` in place of each array.

    Layers are traced as for `BlockSeq.fold_via`. Equal ones are applied by one `jax.vmap`, wherever they occur; if vmap
    would not compute the same for one of the programs, all are applied in order by scans. With `unrolled` they are
    applied as in the comprehension.

    Raises the errors of `scanify.nn.arguments.axes.split_arguments` and of the layers.
    """

    def call(layer: Any, carry: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return carry, boxed(fn(layer, *args, **kwargs))

    args, kwargs = _listed(args, kwargs, in_axes, len(layers))
    names = parameter_names(fn, 1)
    if unrolled:
        return [*map(unboxed, loop_call(call, None, args, kwargs, layers=layers, in_axes=in_axes, names=names).ys)]
    traced = trace_call(call, None, args, kwargs, layers=layers, in_axes=in_axes, names=names)
    programs = {id(step.program): step.program for step in traced.steps}.values()
    pieces: Iterable[Piece]
    if any(one_by_one(program.jaxpr) for program in programs):
        pieces = traced.apply(ScanCheckpointPolicy(disable=True), None)[1]
    else:
        pieces = map_kinds(traced.steps)
    return [unboxed(y) for y in traced.collected(pieces)]


def _listed(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: InAxes, count: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert iterators to lists, as `zip` does; one extra element is enough to detect a wrong length."""
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))

    def listed(value: Any, axis: Any) -> Any:
        return list(islice(value, count + 1)) if axis == 0 and isinstance(value, Iterator) else value

    positional = tuple(listed(value, axis) for value, axis in zip(args, args_axes, strict=True))
    return positional, {name: listed(value, kwargs_axes[name]) for name, value in kwargs.items()}
