"""Follow models through a project, to calls that no table shows to treat each number by itself.

calls ─> code ─> state ─> values
"""
