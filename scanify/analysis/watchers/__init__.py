"""Who sees the tree of parameters: code that stacking a list where it is built would make compute something else.

Stacking gives the leaves of the layers one more axis, there are fewer of them, and their paths change. Elementwise
maps, sums over all leaves, casts and most optimizers are the same on either tree; masks by rank, norms or random keys
for each leaf, labels by path and walks over fields are not.
"""

from scanify.analysis.watchers.plans import with_watchers

__all__ = ["with_watchers"]
