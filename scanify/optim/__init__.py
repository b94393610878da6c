"""Optimisers for models with stacks: layers seen one by one, with masks and labels as for a list.

Needs jax and equinox; wrapping an optimiser also needs optax.
"""

from scanify.optim.label_tree import label_tree as label_tree
from scanify.optim.per_layer import per_layer as per_layer
from scanify.optim.weight_decay_mask import weight_decay_mask as weight_decay_mask
