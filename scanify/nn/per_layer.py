"""Arguments of a sequence of layers that need not be equal: what is shared, and what each layer gets."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax

from scanify.nn.axes import InAxes, normal_axes, split_arguments
from scanify.nn.key_order import ordered, plain
from scanify.nn.layer_inputs import Ref

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def per_layer_arguments(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: InAxes,
    num_layers: int,
    *,
    names: Sequence[str],
    layers_of: Callable[[Any], Any],
) -> tuple[list[Arguments], Callable[[Any], Arguments]]:
    """The arguments of each layer without those that all share, arrays replaced by `Ref`s; and a function that puts
    the shared ones back.

    With axis 0 a list or tuple has one element for each layer, which may be of any structure, as in a Python loop. An
    array (or a pytree of arrays) is taken apart along its axis.

    Raises as `scanify.nn.axes.split_arguments`, and ValueError for lists of another length.
    """
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))
    texts = [f"argument `{name}`" for name in names] + [f"argument {index}" for index in range(len(names), len(args))]

    def columns(value: Any, axis: Any, what: str) -> list[Any]:
        layers = None if axis is None else layers_of(value)
        if layers is not None:
            value = layers
        if axis is not None and _is_sequence(value):
            return _elements(value, axis, num_layers, what)
        if axis is None:
            return [None] * num_layers
        name = what.removeprefix("argument ").strip("`")
        xs, rebuild = split_arguments((value,), {}, (axis,), num_layers, names=(name,))
        return [rebuild(jax.tree.map(lambda x, at=at: Ref(x, at), xs))[0][0] for at in range(num_layers)]

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


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | range | eqx.nn.Sequential) or type(value) is tuple


def _elements(value: Any, axis: int, num_layers: int, what: str) -> list[Any]:
    if axis != 0:
        raise ValueError(f"{what}: a list with one element per layer has only axis 0, got in_axes {axis}")
    elements = list(value)
    if len(elements) != num_layers:
        raise ValueError(
            f"{what}: expected one element for each of the {num_layers} layers, got {len(elements)}. A list or tuple "
            "holds one element per layer; a pytree of arrays that are stacked already is a dict, named tuple or module"
        )
    return [jax.tree.map(lambda leaf: Ref(leaf) if eqx.is_array(leaf) else leaf, ordered(one)) for one in elements]
