"""Follow models through a project, to calls that no table shows to treat each number by itself.

calls ─> expressions ─> state ─> held
"""
