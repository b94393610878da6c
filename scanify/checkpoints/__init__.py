"""Saved arrays, as they are for a list of layers and for a stack of them: one turned into the other, byte for byte.

Named here is what a call imports, as it needs numpy, and for files without names jax.
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
