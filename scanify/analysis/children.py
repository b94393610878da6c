"""What is below a node. Children are found once, as libcst visits a node anew when it is asked (`CSTNode.children`)."""

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

import libcst as cst

Kind = TypeVar("Kind", bound=cst.CSTNode)


@lru_cache(maxsize=1 << 19)  # nodes are compared by identity; a large package has some 300,000
def children(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The nodes right below a node, in source order."""
    return tuple(node.children)


def nodes_in(*roots: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Some nodes and all below them, in source order."""
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def all_of(kind: type[Kind], *roots: cst.CSTNode) -> Iterator[Kind]:
    """The nodes of one kind among some nodes and all below them, in source order."""
    return (node for node in nodes_in(*roots) if isinstance(node, kind))
