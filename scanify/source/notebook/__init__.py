"""Jupyter notebooks: convert code cells to one Python text, and write it back into the JSON of the file.

raw ── the sources of cells, with their places ─> magics ─> text ── Source ─> ... ─> write ── bytes
"""
