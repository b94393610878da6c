"""The comments of a text, which every edit must keep."""

import libcst as cst


class _Comments(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found.append(node.value)


def comments_in(node: cst.CSTNode) -> list[str]:
    """The comments in a tree, in the order of the source."""
    visitor = _Comments()
    node.visit(visitor)
    return visitor.found


def comments_of(text: str, indent: str = "") -> list[str]:
    """The comments in statements that stand at `indent` (the first line's own indentation left out).

    Raises libcst.ParserSyntaxError where the text is not statements.
    """
    inside = f"if True:\n{indent}{text}\n" if indent else f"{text}\n"
    return comments_in(cst.parse_module(inside))


def without(comments: list[str], kept: list[str]) -> list[str]:
    """`comments` without those in `kept`, each taken out as often as it is kept; the order stays."""
    left = list(kept)
    lost = []
    for comment in comments:
        if comment in left:
            left.remove(comment)
        else:
            lost.append(comment)
    return lost
