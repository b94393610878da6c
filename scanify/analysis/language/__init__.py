"""The subset of Python that is understood in loops: operations without side effects.

Functions are interpreted statement by statement; each expression gets a type from the bindings in the source. An
operation that is not listed, or whose operand has no type, becomes an obligation with its place.
"""
