"""Layers as traced programs: their equality, application, and compilation."""
