"""Convert saved arrays between a list of layers and a stack of them, byte for byte.

The functions here are imported on the first call, since they need numpy and, for files without names, jax.
"""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.checkpoints.convert import convert_leaves, convert_names
    from scanify.checkpoints.trees import stack_leaves, unstack_leaves
else:
    convert_leaves, convert_names = (
        on_call("scanify.checkpoints.convert", name) for name in ("convert_leaves", "convert_names")
    )
    stack_leaves, unstack_leaves = (
        on_call("scanify.checkpoints.trees", name) for name in ("stack_leaves", "unstack_leaves")
    )

__all__ = ["convert_leaves", "convert_names", "stack_leaves", "unstack_leaves"]
