"""What Python itself needs the value of: conditions, and what is converted to a number or counted to."""

from collections.abc import Iterator

import libcst as cst

from scanify.analysis.children import children
from scanify.analysis.dotted import dotted

_CONVERSIONS = frozenset("bool int float str range round".split())


def tests_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The expressions whose value Python itself needs."""
    if isinstance(node, cst.If | cst.IfExp | cst.While | cst.Assert | cst.CompIf):
        yield node.test
    elif isinstance(node, cst.Call) and dotted(node.func) in _CONVERSIONS:
        yield from (arg.value for arg in node.args)
    elif (isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)) or isinstance(
        node, cst.BooleanOperation | cst.FormattedStringExpression
    ):
        yield node
    for child in children(node):
        yield from tests_in(child)


def asked(test: cst.CSTNode) -> Iterator[str]:
    """The names in a condition. What is only held against None may be an array all the same."""
    if isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.Is | cst.IsNot):
        return
    if isinstance(test, cst.Name):
        yield test.value
    for child in children(test):
        if not (isinstance(test, cst.Attribute) and child is test.attr):
            yield from asked(child)
