"""Jupyter notebooks: one Python text of all code cells in order, and back into the JSON of the file.

raw ── the sources of cells, with their places ─> magics ─> text ── Source ─> ... ─> write ── bytes
"""
