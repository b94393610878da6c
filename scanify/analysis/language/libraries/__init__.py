"""Functions and classes of libraries, and of Python itself, by lists."""
