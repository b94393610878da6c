"""Where a name stands in code as a name."""

from collections.abc import Iterator

import libcst as cst

from scanify.analysis.children import children


def mentions(node: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    """Every place in some code where a name is read or bound, nested functions included: no attribute, no keyword."""
    if isinstance(node, cst.Name) and node.value == name:
        yield node
    for child in children(node):
        if isinstance(node, cst.Attribute) and child is node.attr:
            continue
        if isinstance(node, cst.Arg) and child is node.keyword:
            continue
        if isinstance(node, cst.Param) and child is node.name:
            continue
        yield from mentions(child, name)
