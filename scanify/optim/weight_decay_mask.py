"""Which parameters decay, by the rank that they have in a layer."""

from typing import Any, TypeVar

from scanify.optim.label_tree import label_tree

T = TypeVar("T")


def weight_decay_mask(params: T, min_ndim: int = 2) -> Any:
    """A tree of bools: whether an array has at least `min_ndim` axes, not counting those of the stacks around it.

        optax.adamw(1e-3, mask=scanify.optim.weight_decay_mask)

    It is `jax.tree.map(lambda p: p.ndim >= 2, params)` of the model with lists: the bias of a layer is a vector, also
    where a stack keeps the biases of all layers as a matrix. What is no array has False.
    """
    return label_tree(lambda path, leaf: len(getattr(leaf, "shape", ())) >= min_ndim, params)
