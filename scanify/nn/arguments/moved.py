"""Arrays of an argument with their layers moved to axis 0."""

from typing import Any

import jax
import jax.numpy as jnp

from scanify.nn.trees.leaves import aval_text, path_text


def refuse_other_leaves(static: Any, what: str) -> None:
    for path, leaf in jax.tree_util.tree_flatten_with_path(static)[0]:
        if not callable(leaf):  # a module's activation function is the same for all layers
            raise TypeError(
                f"{what}: expected arrays to take apart per layer, got {aval_text(leaf)} at "
                f"{path_text(path)}; use in_axes None for what all layers share, or a list with one element per layer"
            )


def moved_leaf(leaf: Any, axis: int, num_layers: int, what: str, path: Any) -> Any:
    place = f"{what}{jax.tree_util.keystr(path)}"
    if not -leaf.ndim <= axis < leaf.ndim:
        raise ValueError(f"{place}: axis {axis} is out of range for {aval_text(leaf)}; {_remedy(leaf, num_layers)}")
    if leaf.shape[axis] != num_layers:
        raise ValueError(
            f"{place}: expected {num_layers} layers along axis {axis}, got {leaf.shape[axis]} ({aval_text(leaf)}); "
            f"{_remedy(leaf, num_layers)}"
        )
    return jnp.moveaxis(leaf, axis, 0)


def _remedy(leaf: Any, num_layers: int) -> str:
    """Suggest a fix. A key for all layers is to be split, since each layer would use it again."""
    typed = leaf.ndim == 0 and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    raw = leaf.dtype == jnp.uint32 and leaf.shape in ((2,), (4,))
    if typed or raw:
        what = "one PRNG key" if typed else "what looks like one raw PRNG key"
        return f"pass jax.random.split(key, {num_layers}): this is {what}, and each layer needs its own"
    return "use in_axes None for what all layers share"
