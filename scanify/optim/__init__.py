"""Optimisers of models with stacks: layers seen one by one, and masks and labels as those of a list. Needs jax, equinox
and, where it wraps an optimiser, optax."""

from scanify.optim.label_tree import label_tree as label_tree
from scanify.optim.per_layer import per_layer as per_layer
from scanify.optim.weight_decay_mask import weight_decay_mask as weight_decay_mask
