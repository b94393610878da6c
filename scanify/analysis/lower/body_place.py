"""The place of a loop body in the text."""

import ast

from scanify.analysis.facts import Span
from scanify.analysis.lower.loop import Loop
from scanify.analysis.plan import Body


def body_place(loop: Loop) -> Body:
    """Return the place of the loop's body in the text."""
    module, node = loop.module, loop.node
    text = module.text
    span = loop.place.span
    if not isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return Body(span)
    first, last = module.span(node.body[0]), module.span(node.body[-1])
    indent = text[module.line_start(first.line) : first.start]
    if loop.element is not None:
        return Body(span, "" if first.line == span.line else indent)
    head = module.span(node.iter if isinstance(node, ast.For | ast.AsyncFor) else node.test)
    colon = text.index(":", head.end)
    if "\n" not in text[colon : first.start] and "\r" not in text[colon : first.start]:
        return Body(Span(first.start, last.end, first.line, last.end_line))
    start = module.line_start(module.line_of(colon) + 1)
    return Body(Span(start, module.line_start(last.end_line + 1), first.line, last.end_line), indent)
