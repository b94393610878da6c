"""The children of a node, found once: libcst visits a node anew each time it is asked (`CSTNode.children`)."""

from functools import lru_cache

import libcst as cst


@lru_cache(maxsize=1 << 19)  # nodes are compared by identity; a large package has some 300,000
def children(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The nodes right below a node, in source order."""
    return tuple(node.children)
