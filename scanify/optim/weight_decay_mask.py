"""A weight decay mask based on the rank of a parameter in a layer."""

from typing import Any, TypeVar

from scanify.optim.label_tree import label_tree

T = TypeVar("T")


def weight_decay_mask(params: T, min_ndim: int = 2) -> Any:
    """Return a tree of bools: true for arrays with at least `min_ndim` axes, not counting the axes of stacks.

        optax.adamw(1e-3, mask=scanify.optim.weight_decay_mask)

    It equals `jax.tree.map(lambda p: p.ndim >= 2, params)` for the model with lists: the bias of a layer is a vector,
    even if a stack stores the biases of all layers as a matrix. Leaves that are not arrays are False.
    """
    return label_tree(lambda path, leaf: len(getattr(leaf, "shape", ())) >= min_ndim, params)
