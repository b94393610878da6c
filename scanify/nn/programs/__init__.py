"""Layers as traced programs: which are equal, how they are applied, and when they are compiled."""
