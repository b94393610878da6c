"""Loops over modules of Flax Linen: the modules that they apply, and their names in the tree of variables."""
