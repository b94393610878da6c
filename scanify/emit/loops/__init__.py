"""Rewriting one loop: its function, collected outputs, early exits, and surrounding code."""
