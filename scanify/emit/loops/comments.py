"""The comments of a text, which every edit must keep."""

import libcst as cst


class _Comments(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found.append(node.value)


def comments_in(node: cst.CSTNode) -> list[str]:
    """Return the comments in a tree, in source order."""
    visitor = _Comments()
    node.visit(visitor)
    return visitor.found


def comments_of(text: str, indent: str = "") -> list[str]:
    """Return the comments in statements at indentation `indent`, which the first line lacks.

    Raises libcst.ParserSyntaxError if the text does not consist of statements.
    """
    inside = f"if True:\n{indent}{text}\n" if indent else f"{text}\n"
    return comments_in(cst.parse_module(inside))


def without(comments: list[str], kept: list[str]) -> list[str]:
    """Remove from `comments` those in `kept`, each as often as it occurs there; the order stays."""
    left = list(kept)
    lost = []
    for comment in comments:
        if comment in left:
            left.remove(comment)
        else:
            lost.append(comment)
    return lost
