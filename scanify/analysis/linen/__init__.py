"""Loops over modules of Flax Linen: which modules they apply, and what these are called in the tree of variables."""
