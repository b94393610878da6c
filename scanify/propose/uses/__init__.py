"""Calls of a class in the project's own code as sources of values: analysed statically, evaluated only in a case."""
