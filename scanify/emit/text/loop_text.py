"""Split the text of one `for` statement into the parts that an emitter keeps verbatim."""

import re
from collections import Counter
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.plan import Plan
from scanify.emit.loops.comments import comments_in
from scanify.emit.text.house_style import HouseStyle
from scanify.emit.text.layout import Style
from scanify.emit.text.newlines import indent_of, indent_width, line_start, line_stop, newline_of, next_line
from scanify.errors import CheckFailed


@dataclass(frozen=True)
class LoopText:
    """The parts of a `for` statement in a file.

    `start` is the offset of the `for`, `end` the offset of the line end after its last line: comments below the last
    statement that are indented deeper than the `for` belong to the loop. `style` is the style of a statement in the
    loop's place. `after_colon` is the text behind the header's colon on its line (a comment, or nothing), `body` the
    rest: whole lines at `indent`, with a line end. `comments` are all comments in order; `for_comment` is the one on
    the header's line and `last_comment` the one on the last line of the body's only statement, or None.
    """

    start: int
    end: int
    indent: str
    style: Style
    after_colon: str
    body: str
    comments: tuple[str, ...]
    for_comment: str | None
    last_comment: str | None


def loop_text(plan: Plan, text: str, house: HouseStyle) -> LoopText:
    """Split the plan's loop into its parts. Raises CheckFailed if the plan's span is not a `for` statement."""
    start = plan.place.span.start
    start += len(indent_of(text[start:]))
    loop_indent = text[line_start(text, start) : start]
    end = end_of_block(text, max(plan.place.span.end, plan.body.span.end), indent_width(loop_indent + "x"))
    newline = newline_of(text)
    module, loop = _parse(plan, with_replacements(plan, text, start, end) + newline)
    suite = loop.body
    below = module.code_for_node(suite)
    header = suite.header if isinstance(suite, cst.IndentedBlock) else None
    after_colon = module.code_for_node(header) if header else newline
    if header is not None:
        indent = plan.body.indent
        body = below[len(after_colon) :]
    else:
        indent = loop_indent + step_of(text, loop_indent)
        body = indent + below.lstrip(" \t")
    return LoopText(
        start=start,
        end=end,
        indent=indent,
        style=house.style(loop_indent, indent.removeprefix(loop_indent) or "    ", newline),
        after_colon=after_colon.rstrip("\r\n").rstrip(),
        body=body,
        comments=tuple(comments_in(module)),
        for_comment=_comment(header),
        last_comment=_last_comment(suite),
    )


def with_replacements(plan: Plan, text: str, start: int, end: int) -> str:
    """Return a stretch of the text with the plan's replacements."""
    new, at = "", start
    for one in (each for each in plan.replaced if start <= each.start and each.end <= end):
        new += text[at : one.start] + one.text
        at = one.end
    return new + text[at:end]


def _parse(plan: Plan, fragment: str) -> tuple[cst.Module, cst.For]:
    """Parse the statement alone: its first line starts at the `for`, and the body is indented deeper."""
    problem = ""
    try:
        module = cst.parse_module(fragment)
    except cst.ParserSyntaxError as error:
        problem = error.message
    else:
        if len(module.body) == 1 and isinstance(loop := module.body[0], cst.For) and loop.orelse is None:
            return module, loop
        problem = "other statements, or an `else`"
    raise CheckFailed(
        f"{plan.place}: expected the plan to point to one `for` statement, got {problem}; nothing was written; "
        "please report this"
    )


def end_of_block(text: str, end: int, column: int) -> int:
    """Return the end of a compound statement's last line, including comments below that are deeper than `column`."""
    while end > 0 and text[end - 1] in "\r\n":
        end -= 1
    end = line_stop(text, end)
    at = next_line(text, end)
    while at < len(text):
        stop = line_stop(text, at)
        line = text[at:stop]
        if line.strip():
            if not line.lstrip().startswith("#") or indent_width(line) <= column:
                break
            end = stop
        at = next_line(text, stop)
    return end


# The indentation of a line that opens a block, and of the first line in it.
_BLOCK = re.compile(
    r"^( *)(?=\S)[^\n]*:[ \t]*(?:#[^\n]*)?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?=( +)[^\s#])", re.MULTILINE
)


def step_of(text: str, indent: str) -> str:
    """Return one step of indentation, as in the rest of the file."""
    if "\t" in indent:
        return "\t"
    steps = Counter(len(found[2]) - len(found[1]) for found in _BLOCK.finditer(text))
    steps = Counter({width: count for width, count in steps.items() if width in (1, 2, 3, 4, 8)})
    return " " * steps.most_common(1)[0][0] if steps else "    "


def _comment(node: cst.TrailingWhitespace | None) -> str | None:
    return node.comment.value if node is not None and node.comment is not None else None


def _last_comment(suite: cst.BaseSuite) -> str | None:
    if isinstance(suite, cst.SimpleStatementSuite):
        return _comment(suite.trailing_whitespace)
    if isinstance(suite, cst.IndentedBlock) and len(suite.body) == 1:
        statement = suite.body[0]
        if isinstance(statement, cst.SimpleStatementLine):
            return _comment(statement.trailing_whitespace)
    return None
