"""Saved arrays, as they are for a list of layers and for a stack of them: one turned into the other, byte for byte."""
