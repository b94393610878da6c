"""Where a model goes in the project, and what is given it that no table shows to treat each number by itself.

calls ─> expressions ─> state ─> held
"""
