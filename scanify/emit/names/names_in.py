"""Find the names that an expression reads."""

import libcst as cst


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        self._hold = set(self.found)

    def leave_Attribute_attr(self, node: cst.Attribute) -> None:
        self.found = self._hold

    def visit_Arg_keyword(self, node: cst.Arg) -> None:
        self._hold = set(self.found)

    def leave_Arg_keyword(self, node: cst.Arg) -> None:
        self.found = self._hold


def names_in(text: str) -> frozenset[str]:
    """Return the names in an expression, without attributes and the names of keyword arguments."""
    visitor = _Names()
    cst.parse_expression(f"({text}\n)").visit(visitor)
    return frozenset(visitor.found)
