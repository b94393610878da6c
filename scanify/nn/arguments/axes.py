"""Arguments of a scan over layers: whether all layers share them, or along which axis they are split."""

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.arguments.argument_layers import layer_elements
from scanify.nn.arguments.layer_inputs import Inputs, Ref
from scanify.nn.arguments.moved import moved_leaf, refuse_other_leaves
from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.has_layers import has_elements
from scanify.nn.trees.key_order import plain
from scanify.nn.trees.leaves import is_array, is_number, path_text, same_value

Axis: TypeAlias = int | None
InAxes: TypeAlias = Axis | Sequence[Axis] | tuple[Axis | Sequence[Axis], Mapping[str, Axis]]


def split_arguments(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: InAxes,
    num_layers: int,
    *,
    names: Sequence[str] = (),
) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]]:
    """Separate the xs of a scan from arguments that every layer sees unchanged.

    Returns the per-layer arrays as a pytree with the layers along axis 0, and a function from one slice of that pytree
    to the arguments of one layer. Arguments with axis None are closed over, unchanged: a bool stays a bool. A stack of
    any kind, anywhere in an argument with an axis, is the sequence of its layers. `names` are the names of the
    positional parameters, for messages.

    Raises:
        TypeError: `in_axes` does not fit the arguments, or an argument with an axis is not made of arrays.
        ValueError: an axis is out of range, or its size is not `num_layers`.
    """
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))

    def per_layer(value: Any, axis: Axis, what: str) -> tuple[Any, Rebuild]:
        return _per_layer(value, axis, num_layers, what)

    texts = argument_texts(names, len(args))
    positional = [per_layer(*one) for one in zip(args, args_axes, texts[: len(args)], strict=True)]
    named = {name: per_layer(value, kwargs_axes[name], f"argument `{name}`") for name, value in kwargs.items()}
    xs = [one[0] for one in positional], {name: one[0] for name, one in named.items()}

    def rebuild(x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        sliced, sliced_named = x
        rebuilt = tuple(one[1](part) for one, part in zip(positional, sliced, strict=True))
        return rebuilt, {name: one[1](sliced_named[name]) for name, one in named.items()}

    return xs, rebuild


def argument_texts(names: Sequence[str], count: int) -> list[str]:
    """Return the names of the positional arguments in messages."""
    return [f"argument `{name}`" for name in names] + [f"argument {index}" for index in range(len(names), count)]


def parameter_names(function: Callable[..., Any], skip: int) -> list[str]:
    """Return the names of the positional parameters after the first `skip`, if they can be known."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in positional][skip:]


def normal_axes(in_axes: InAxes, count: int, names: Sequence[str]) -> tuple[tuple[Axis, ...], dict[str, Axis]]:
    """Return one axis for each argument. A pair whose second part is a mapping is `(args_axes, kwargs_axes)`."""
    kwargs_axes: Mapping[str, Any] = dict.fromkeys(names)
    args_axes: Any = in_axes
    if isinstance(in_axes, list | tuple) and len(in_axes) == 2 and isinstance(in_axes[1], Mapping):
        args_axes, kwargs_axes = in_axes[0], in_axes[1]
        if set(kwargs_axes) != set(names):
            raise TypeError(
                f"expected one entry of `in_axes` for each keyword argument ({_listed(names)}), "
                f"got entries for {_listed(kwargs_axes)}"
            )
    elif not isinstance(in_axes, list | tuple):
        kwargs_axes = dict.fromkeys(names, in_axes)
    if not isinstance(args_axes, list | tuple):
        args_axes = (_axis(args_axes),) * count
    if len(args_axes) != count:
        raise TypeError(
            f"expected one entry of `in_axes` for each of the {count} positional arguments after the carry, "
            f"got {len(args_axes)}: {args_axes!r}"
        )
    return tuple(_axis(axis) for axis in args_axes), {name: _axis(axis) for name, axis in kwargs_axes.items()}


def _axis(axis: Any) -> Axis:
    """Return None or an integer, also for integers of numpy."""
    if axis is None:
        return None
    try:
        if isinstance(axis, bool):
            raise TypeError
        return operator.index(axis)
    except TypeError:
        raise TypeError(
            f"expected the entries of `in_axes` to be None or integers, one for each argument, got {axis!r}"
        ) from None


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


Rebuild: TypeAlias = Callable[[Any], Any]


def _per_layer(value: Any, axis: Axis, num_layers: int, what: str) -> tuple[Any, Rebuild]:
    if axis is None:
        return None, lambda _: value
    if has_elements(value):
        arrays, static = eqx.partition(stack_elements(layer_elements(value, axis, num_layers, what), what), is_array)
        return arrays, lambda part: plain(eqx.combine(part, static))
    arrays, static = eqx.partition(value, is_array)  # None, as for `key=None` at inference, stays None
    refuse_other_leaves(static, what)
    moved = jax.tree_util.tree_map_with_path(lambda path, leaf: moved_leaf(leaf, axis, num_layers, what, path), arrays)
    return moved, lambda part: eqx.combine(part, static)


class ElementsDiffer(ValueError):
    """The elements of layers differ in more than the values of arrays and numbers."""


def stack_elements(elements: Sequence[Any], what: str) -> Any:
    """Stack the elements of all layers, with a `Ref` for each array, into one pytree.

    Arrays are stacked, and so are Python numbers that differ from layer to layer, as weak-typed arrays. Values that are
    the same for all layers are kept: a layer can branch on them as in the loop.
    """
    leaves = [jax.tree.leaves(element) for element in elements]
    varying = [
        all(at < len(row) and is_number(row[at]) for row in leaves)
        and not all(same_value(leaf, row[at]) for row in leaves)
        for at, leaf in enumerate(leaves[0])
    ]
    numbered = [_with_arrays(element, varying) for element in elements]
    shapes = [jax.tree.map(_shape, element) for element in numbered]
    for index, element in enumerate(shapes):
        difference = first_difference(shapes[0], element)
        if difference is not None:
            raise ElementsDiffer(
                f"{what}: expected elements that differ only in the values of arrays and numbers; those of layers 0 "
                f"and {index} differ at {path_text(difference.path)}: {difference}. Hold the layers in a BlockSeq, "
                "whose layers may get arguments of any kind"
            )
    columns = list(zip(*(jax.tree.leaves(element) for element in numbered), strict=True))
    inputs = Inputs([[leaf for column in columns for leaf in column if isinstance(leaf, Ref)]])
    stacked = [inputs.stacked(column) if isinstance(column[0], Ref) else column[0] for column in columns]
    return jax.tree.unflatten(jax.tree.structure(elements[0]), stacked)


def _shape(leaf: Any) -> Any:
    return leaf.struct() if isinstance(leaf, Ref) else leaf


def _with_arrays(element: Any, varying: Sequence[bool]) -> Any:
    leaves, treedef = jax.tree.flatten(element)
    if len(leaves) != len(varying):
        return element  # of another structure, which the comparison reports
    converted = [Ref(jnp.asarray(leaf)) if vary else leaf for leaf, vary in zip(leaves, varying, strict=True)]
    return jax.tree.unflatten(treedef, converted)
