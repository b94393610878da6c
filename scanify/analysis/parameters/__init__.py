"""Loops over lists of parameters that are not modules: dicts, tuples, named tuples, dataclasses of arrays."""
