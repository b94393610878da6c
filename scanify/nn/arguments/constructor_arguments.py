"""Arguments of the constructor of a stack's layers: which of them have an entry for each layer."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.arguments.axes import normal_axes, split_arguments
from scanify.nn.trees.leaves import aval_text, has_aval, is_array


def constructor_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, count: int, names: Sequence[str]
) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]]:
    """Return the per-layer arguments of a constructor, and a function from one layer's part to all of its arguments."""
    if isinstance(in_axes, str):
        if in_axes not in ("keys", "by shape"):
            raise TypeError(f"expected `in_axes` to be 'by shape', 'keys' or axes, got {in_axes!r}")
        args, kwargs = jax.tree.map(
            lambda leaf: jnp.stack(leaf) if _are_keys(leaf, count) else leaf,
            (args, kwargs),
            is_leaf=lambda node: _are_keys(node, count),
        )
        _refuse_one_key((args, kwargs), count, names)
        per_layer = _has_layers if in_axes == "by shape" else _has_keys
        given, shared = eqx.partition((args, kwargs), lambda leaf: per_layer(leaf, count))
        return given, lambda part: eqx.combine(part, shared)
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))
    own = [value if axis is None else None for value, axis in zip(args, args_axes, strict=True)]
    named = {name: kwargs[name] for name, axis in kwargs_axes.items() if axis is None}
    _refuse_one_key((own, named), count, names)
    return split_arguments(args, kwargs, in_axes, count, names=names)


def _has_layers(leaf: Any, num_layers: int) -> bool:
    return is_array(leaf) and leaf.ndim > 0 and leaf.shape[0] == num_layers


def _has_keys(leaf: Any, num_layers: int) -> bool:
    return _has_layers(leaf, num_layers) and _is_key(jax.eval_shape(lambda keys: keys[0], leaf))


def _are_keys(node: Any, num_layers: int) -> bool:
    """True for a list of PRNG keys, one for each layer."""
    return isinstance(node, list | tuple) and len(node) == num_layers and all(map(_is_key, node))


def _is_key(leaf: Any) -> bool:
    if not has_aval(leaf):
        return False
    return _is_raw(leaf) or (leaf.ndim == 0 and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _is_raw(leaf: Any) -> bool:
    raw_shape = (4,) if "rbg" in jax.config.jax_default_prng_impl else (2,)
    return bool(leaf.dtype == jnp.uint32 and leaf.shape == raw_shape)


def _refuse_one_key(given: Any, num_layers: int, names: Sequence[str]) -> None:
    if num_layers == 1:
        return
    for path, leaf in jax.tree_util.tree_flatten_with_path(given)[0]:
        if not is_array(leaf):
            continue
        typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        # A raw key is as long as a stack of two (threefry) or four (rbg) layers: each would get one number.
        if _is_raw(leaf) or (typed and not _has_layers(leaf, num_layers)):
            raise ValueError(
                f"expected a PRNG key for each of the {num_layers} layers, got {aval_text(leaf)} for all of them at "
                f"{_where(path, names)}: every layer would begin with the same weights. Pass "
                f"jax.random.split(key, {num_layers})"
            )


def _where(path: Sequence[Any], names: Sequence[str]) -> str:
    """Name an argument, with the key path in it; `path` is a path in `(args, kwargs)`."""
    which, position, *rest = path
    if which.idx == 1:
        name = position.key
    else:
        name = names[position.idx] if position.idx < len(names) else f"argument {position.idx}"
    return f"`{name}{jax.tree_util.keystr(tuple(rest))}`"
