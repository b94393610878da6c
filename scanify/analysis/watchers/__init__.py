"""Find code that sees the parameter tree and would compute something else if a list were built stacked.

In a stack there are fewer leaves, each has one more axis, and paths change. Elementwise maps, sums over all leaves,
casts and most optimizers give the same on either tree; masks by rank, norms or random keys per leaf, labels by path
and traversals of fields do not.
"""

from scanify.analysis.watchers.plans import with_watchers

__all__ = ["with_watchers"]
