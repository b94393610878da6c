"""Calls of a class in the project's own code, as sources of values: read statically, evaluated in a case alone."""
