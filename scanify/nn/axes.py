"""Arguments of a scan over layers: which are shared by all layers, and along which axis the others are taken apart."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.leaves import aval_text, is_array, path_text, same_leaf

Axis: TypeAlias = int | None
InAxes: TypeAlias = Axis | Sequence[Axis] | tuple[Sequence[Axis], Mapping[str, Axis]]


def split_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: InAxes, num_layers: int
) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]]:
    """Separate what is scanned over from what every layer sees as it is.

    Returns the per-layer arrays as a pytree with the layers along axis 0, and a function that gives, from one slice of
    that pytree, the arguments of one layer. Arguments with axis None are closed over, unchanged: a bool stays a bool.

    Raises:
        TypeError: `in_axes` does not fit the arguments, or an argument with an axis is not made of arrays.
        ValueError: an axis is out of range or has another size than `num_layers`.
    """
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))
    positional = [
        _per_layer(value, axis, num_layers, f"argument {index}")
        for index, (value, axis) in enumerate(zip(args, args_axes, strict=True))
    ]
    named = {
        name: _per_layer(value, kwargs_axes[name], num_layers, f"argument `{name}`") for name, value in kwargs.items()
    }
    xs = [one[0] for one in positional], {name: one[0] for name, one in named.items()}

    def rebuild(x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        sliced, sliced_named = x
        rebuilt = tuple(one[1](part) for one, part in zip(positional, sliced, strict=True))
        return rebuilt, {name: one[1](sliced_named[name]) for name, one in named.items()}

    return xs, rebuild


def normal_axes(in_axes: InAxes, count: int, names: Sequence[str]) -> tuple[tuple[Axis, ...], dict[str, Axis]]:
    """One axis for each argument. A pair whose second part is a mapping is `(args_axes, kwargs_axes)`."""
    if in_axes is None or isinstance(in_axes, int):
        return (in_axes,) * count, dict.fromkeys(names, in_axes)
    args_axes: Any = in_axes
    kwargs_axes: Mapping[str, Axis] = dict.fromkeys(names)
    if len(in_axes) == 2 and isinstance(in_axes[1], Mapping):
        args_axes, kwargs_axes = in_axes[0], in_axes[1]
        if args_axes is None or isinstance(args_axes, int):
            args_axes = (args_axes,) * count
        if set(kwargs_axes) != set(names):
            raise TypeError(
                f"expected one entry of `in_axes` for each keyword argument ({_listed(names)}), "
                f"got entries for {_listed(kwargs_axes)}"
            )
    if len(args_axes) != count:
        raise TypeError(
            f"expected one entry of `in_axes` for each of the {count} positional arguments after the carry, "
            f"got {len(args_axes)}: {args_axes!r}"
        )
    for axis in (*args_axes, *kwargs_axes.values()):
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise TypeError(f"expected the entries of `in_axes` to be None or integers, got {axis!r}")
    return tuple(args_axes), dict(kwargs_axes)


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


Rebuild: TypeAlias = Callable[[Any], Any]


def _per_layer(value: Any, axis: Axis, num_layers: int, what: str) -> tuple[Any, Rebuild]:
    if axis is None:
        return None, lambda _: value
    if value is None:
        return None, lambda _: None  # `key=None` at inference (hazard: haliax raises here)
    if _is_sequence(value):
        if axis != 0:
            raise ValueError(f"{what}: a list with one element per layer has only axis 0, got in_axes {axis}")
        value = _stack_elements(value, num_layers, what)
        arrays, static = eqx.partition(value, is_array)
    else:
        arrays, static = eqx.partition(value, is_array)
        _refuse_numbers(static, what)
    moved = jax.tree_util.tree_map_with_path(lambda path, leaf: _moved(leaf, axis, num_layers, what, path), arrays)
    return moved, lambda part: eqx.combine(part, static)


def _is_sequence(value: Any) -> bool:
    """A list or a plain tuple is one element per layer; a named tuple is a pytree of arrays, as a cache often is."""
    return isinstance(value, list) or type(value) is tuple


def _refuse_numbers(static: Any, what: str) -> None:
    for path, leaf in jax.tree_util.tree_flatten_with_path(static)[0]:
        if isinstance(leaf, bool | int | float | complex | str) or not callable(leaf):
            raise TypeError(
                f"{what}: expected arrays to take apart per layer, got {aval_text(leaf)} at "
                f"{path_text(path)}; use in_axes None for what all layers share"
            )


def _moved(leaf: Any, axis: int, num_layers: int, what: str, path: Any) -> Any:
    place = f"{what}{jax.tree_util.keystr(path)}"
    if not -leaf.ndim <= axis < leaf.ndim:
        raise ValueError(f"{place}: axis {axis} is out of range for {aval_text(leaf)}")
    if leaf.shape[axis] != num_layers:
        raise ValueError(
            f"{place}: expected {num_layers} layers along axis {axis}, got {leaf.shape[axis]} ({aval_text(leaf)}); "
            "use in_axes None for what all layers share"
        )
    return jnp.moveaxis(leaf, axis, 0)


def _stack_elements(elements: Sequence[Any], num_layers: int, what: str) -> Any:
    """A list with one pytree per layer as one pytree: arrays and numbers are stacked, numbers as weak-typed arrays."""
    if len(elements) != num_layers:
        raise ValueError(f"{what}: expected one element for each of the {num_layers} layers, got {len(elements)}")
    flat = [jax.tree_util.tree_flatten_with_path(element) for element in elements]
    first, treedef = flat[0]
    for index, (_, other) in enumerate(flat[1:], start=1):
        if other != treedef:
            raise ValueError(
                f"{what}: expected elements of one structure; those of layers 0 and {index} differ: "
                f"{treedef} and {other}"
            )
    leaves = []
    for position, (path, _) in enumerate(first):
        column = [leaves_[position][1] for leaves_, _ in flat]
        leaves.append(_stack_column(column, f"{what}, {path_text(path)}"))
    return jax.tree_util.tree_unflatten(treedef, leaves)


def _stack_column(column: Sequence[Any], what: str) -> Any:
    first = column[0]
    if all(is_array(leaf) or isinstance(leaf, bool | int | float | complex) for leaf in column):
        arrays = [jnp.asarray(leaf) for leaf in column]
        for index, leaf in enumerate(arrays[1:], start=1):
            alike = (leaf.shape, leaf.dtype, leaf.weak_type) == (arrays[0].shape, arrays[0].dtype, arrays[0].weak_type)
            if not alike:
                raise ValueError(
                    f"{what}: expected one shape and dtype in all layers; layers 0 and {index} have "
                    f"{aval_text(arrays[0])} and {aval_text(leaf)}"
                )
        return jnp.stack(arrays)
    for index, leaf in enumerate(column[1:], start=1):
        if is_array(leaf) or not same_leaf(first, leaf):
            raise ValueError(
                f"{what}: only arrays can differ from layer to layer in a scan; layers 0 and {index} have "
                f"{aval_text(first)} and {aval_text(leaf)}"
            )
    return first
