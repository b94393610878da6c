"""Pytrees: which leaves are arrays, how values are compared and kept, what has layers."""
