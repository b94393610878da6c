"""The text of a node by itself."""

import libcst as cst


def code_of(node: cst.CSTNode) -> str:
    """What the node would be written as."""
    return cst.Module([]).code_for_node(node)
