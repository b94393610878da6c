"""Functions and classes of libraries and of Python itself, from lists."""
