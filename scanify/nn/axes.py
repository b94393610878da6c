"""Arguments of a scan over layers: which are shared by all layers, and along which axis the others are taken apart."""

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.difference import first_difference
from scanify.nn.key_order import ordered, plain
from scanify.nn.leaves import aval_text, is_array, is_number, path_text, same_value
from scanify.nn.stacking import stack_leaves

Axis: TypeAlias = int | None
InAxes: TypeAlias = Axis | Sequence[Axis] | tuple[Axis | Sequence[Axis], Mapping[str, Axis]]


def split_arguments(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: InAxes,
    num_layers: int,
    *,
    names: Sequence[str] = (),
    layers_of: Callable[[Any], Any] = lambda value: None,
) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]]:
    """Separate what is scanned over from what every layer sees as it is.

    Returns the per-layer arrays as a pytree with the layers along axis 0, and a function that gives, from one slice of
    that pytree, the arguments of one layer. Arguments with axis None are closed over, unchanged: a bool stays a bool.
    `names` are those of the positional parameters, for messages; `layers_of` gives, for an argument that is a stack
    itself, the module that holds its layers along axis 0, and None for all others.

    Raises:
        TypeError: `in_axes` does not fit the arguments, or an argument with an axis is not made of arrays.
        ValueError: an axis is out of range or has another size than `num_layers`.
    """
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))

    def per_layer(value: Any, axis: Axis, what: str) -> tuple[Any, Rebuild]:
        layers = None if axis is None else layers_of(value)
        return _per_layer(value if layers is None else layers, axis, num_layers, what)

    texts = [f"argument `{name}`" for name in names] + [f"argument {index}" for index in range(len(names), len(args))]
    positional = [per_layer(*one) for one in zip(args, args_axes, texts[: len(args)], strict=True)]
    named = {name: per_layer(value, kwargs_axes[name], f"argument `{name}`") for name, value in kwargs.items()}
    xs = [one[0] for one in positional], {name: one[0] for name, one in named.items()}

    def rebuild(x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        sliced, sliced_named = x
        rebuilt = tuple(one[1](part) for one, part in zip(positional, sliced, strict=True))
        return rebuilt, {name: one[1](sliced_named[name]) for name, one in named.items()}

    return xs, rebuild


def parameter_names(function: Callable[..., Any], skip: int) -> list[str]:
    """The names of the positional parameters after the first `skip`, as far as they can be known."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in positional][skip:]


def normal_axes(in_axes: InAxes, count: int, names: Sequence[str]) -> tuple[tuple[Axis, ...], dict[str, Axis]]:
    """One axis for each argument. A pair whose second part is a mapping is `(args_axes, kwargs_axes)`."""
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
    """None or an integer, those of numpy included."""
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
    if _is_sequence(value):
        if axis != 0:
            raise ValueError(f"{what}: a list with one element per layer has only axis 0, got in_axes {axis}")
        arrays, static = eqx.partition(_stack_elements(list(map(ordered, value)), num_layers, what), is_array)
        return arrays, lambda part: plain(eqx.combine(part, static))
    arrays, static = eqx.partition(value, is_array)  # of None, as `key=None` at inference, nothing: it stays None
    _refuse_other_leaves(static, what)
    moved = jax.tree_util.tree_map_with_path(lambda path, leaf: _moved(leaf, axis, num_layers, what, path), arrays)
    return moved, lambda part: eqx.combine(part, static)


def _is_sequence(value: Any) -> bool:
    """Values with one element per layer; a named tuple is a pytree of arrays, as a cache often is."""
    return isinstance(value, list | range | eqx.nn.Sequential) or type(value) is tuple


def _refuse_other_leaves(static: Any, what: str) -> None:
    for path, leaf in jax.tree_util.tree_flatten_with_path(static)[0]:
        if not callable(leaf):  # a module's activation function is the same for all layers
            raise TypeError(
                f"{what}: expected arrays to take apart per layer, got {aval_text(leaf)} at "
                f"{path_text(path)}; use in_axes None for what all layers share, or a list with one element per layer"
            )


def _moved(leaf: Any, axis: int, num_layers: int, what: str, path: Any) -> Any:
    place = f"{what}{jax.tree_util.keystr(path)}"
    if not -leaf.ndim <= axis < leaf.ndim:
        key = leaf.ndim == 0 and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        remedy = (
            f"; pass jax.random.split(key, {num_layers})" if key else "; use in_axes None for what all layers share"
        )
        raise ValueError(f"{place}: axis {axis} is out of range for {aval_text(leaf)}{remedy}")
    if leaf.shape[axis] != num_layers:
        raise ValueError(
            f"{place}: expected {num_layers} layers along axis {axis}, got {leaf.shape[axis]} ({aval_text(leaf)}); "
            "use in_axes None for what all layers share"
        )
    return jnp.moveaxis(leaf, axis, 0)


def _stack_elements(elements: Sequence[Any], num_layers: int, what: str) -> Any:
    """A list with one pytree per layer as one pytree.

    Arrays are stacked, and so are Python numbers that differ from layer to layer, as weak-typed arrays. What is the
    same for all layers stays as it is: a layer can branch on it as in the loop.
    """
    if len(elements) != num_layers:
        raise ValueError(
            f"{what}: expected one element for each of the {num_layers} layers, got {len(elements)}. A list or tuple "
            "holds one element per layer; a pytree of arrays that are stacked already is a dict, named tuple or module"
        )
    leaves = [jax.tree.leaves(element) for element in elements]
    varying = [
        all(is_number(row[at]) for row in leaves if at < len(row))
        and not all(at < len(row) and same_value(leaf, row[at]) for row in leaves)
        for at, leaf in enumerate(leaves[0])
    ]
    numbered = [_with_arrays(element, varying) for element in elements]
    for index, element in enumerate(numbered):
        difference = first_difference(numbered[0], element)
        if difference is not None:
            raise ValueError(
                f"{what}: expected elements that differ only in the values of arrays and numbers; those of layers 0 "
                f"and {index} differ at {path_text(difference.path)}: {difference}"
            )
    columns = zip(*(jax.tree.leaves(element) for element in numbered), strict=True)
    stacked = [stack_leaves(column) if is_array(column[0]) else column[0] for column in columns]
    return jax.tree.unflatten(jax.tree.structure(elements[0]), stacked)


def _with_arrays(element: Any, varying: Sequence[bool]) -> Any:
    leaves, treedef = jax.tree.flatten(element)
    if len(leaves) != len(varying):
        return element  # of another structure, which is told by whoever compares
    converted = [jnp.asarray(leaf) if vary else leaf for leaf, vary in zip(leaves, varying, strict=True)]
    return jax.tree.unflatten(treedef, converted)
