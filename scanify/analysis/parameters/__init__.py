"""Loops over lists of parameters that are no modules: dicts, tuples, named tuples, dataclasses of arrays."""
