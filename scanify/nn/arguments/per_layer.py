"""Arguments of a sequence of layers that need not be equal: shared ones and per-layer ones."""

from collections.abc import Callable, Sequence
from typing import Any

from scanify.nn.arguments.argument_layers import layer_elements
from scanify.nn.arguments.axes import InAxes, argument_texts, normal_axes, split_arguments
from scanify.nn.arguments.layer_inputs import entries_of
from scanify.nn.trees.has_layers import has_elements
from scanify.nn.trees.key_order import plain

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def per_layer_arguments(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: InAxes,
    num_layers: int,
    *,
    names: Sequence[str],
) -> tuple[list[Arguments], Callable[[Any], Arguments]]:
    """Return the arguments of each layer without the shared ones, with `Ref`s for arrays; and a function that adds the
    shared ones.

    With axis 0, a list or tuple has one element for each layer, which may have any structure, as in a Python loop. A
    stack is split into its layers, wherever it occurs. An array (or a pytree of arrays) is split along its axis.

    Raises the errors of `scanify.nn.arguments.axes.split_arguments`, and ValueError for lists of another length.
    """
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))
    texts = argument_texts(names, len(args))

    def columns(value: Any, axis: Any, what: str) -> list[Any]:
        if axis is None:
            return [None] * num_layers
        if has_elements(value):
            return layer_elements(value, axis, num_layers, what)
        name = what.removeprefix("argument ").strip("`")
        xs, rebuild = split_arguments((value,), {}, (axis,), num_layers, names=(name,))
        return [rebuild(one)[0][0] for one in entries_of(xs, num_layers)]

    positional = [columns(*one) for one in zip(args, args_axes, texts[: len(args)], strict=True)]
    named = {name: columns(value, kwargs_axes[name], f"argument `{name}`") for name, value in kwargs.items()}
    own = [
        (tuple(column[at] for column in positional), {name: column[at] for name, column in named.items()})
        for at in range(num_layers)
    ]

    def with_shared(arguments: Any) -> Arguments:
        given, given_named = arguments
        whole = zip(args, args_axes, given, strict=True)
        return (
            tuple(value if axis is None else plain(one) for value, axis, one in whole),
            {name: kwargs[name] if kwargs_axes[name] is None else plain(given_named[name]) for name in kwargs},
        )

    return own, with_shared
