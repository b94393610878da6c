"""What calls of jax's and equinox's functions on trees read of leaves.

reads ─> specs, predicates, treedefs ─> uses ─> leaf ─> library ─> values
"""
