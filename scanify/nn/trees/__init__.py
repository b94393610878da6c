"""Pytrees: array leaves, comparing and storing values, and stacks among the nodes."""
