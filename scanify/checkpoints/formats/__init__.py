"""Checkpoint formats: the arrays in a file, the location of their bytes, and how to write a file."""
