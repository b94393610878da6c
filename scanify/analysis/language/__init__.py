"""The language of loops that is understood: operations that change nothing but what they return.

A function is walked statement by statement; each expression gets a type from how it is bound in the source. An
operation that is not listed, or whose operand has no type, is an obligation with its place.
"""
