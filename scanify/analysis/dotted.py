"""Dotted names."""

import libcst as cst


def dotted(node: cst.CSTNode) -> str | None:
    """`a.b.c` for a name or a chain of attributes of a name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return ".".join([node.value, *reversed(parts)])
