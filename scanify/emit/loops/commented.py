"""A statement that replaces a loop, with the loop's comments."""

from scanify.emit.loops.comments import comments_of, without
from scanify.emit.text.loop_text import LoopText

# Comments for tools about their own line: they stay on the statement's line however long it gets.
_PRAGMAS = ("# noqa", "# type:", "# pyright:", "# pylint:", "# fmt:", "# ruff:", "# pragma:", "# ty:")


def with_comments(statement: str, loop: LoopText) -> str:
    """Add the loop's comments to the statement: one behind it, the others on lines of their own above."""
    lost = without(list(loop.comments), comments_of(statement, loop.style.indent))
    behind = loop.last_comment or loop.for_comment
    if behind is not None and (loop.style.fits(f"{statement}  {behind}") or behind.startswith(_PRAGMAS)):
        at = len(lost) - 1 - lost[::-1].index(behind) if loop.last_comment else lost.index(behind)
        del lost[at]
        statement += f"  {behind}"
    return (loop.style.newline + loop.style.indent).join([*lost, statement])
