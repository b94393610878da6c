"""An expression with a loop as one call in its place: `map_via` for a comprehension, `fold` for `reduce`."""

from collections.abc import Sequence

import libcst as cst

from scanify.analysis.plan import Plan
from scanify.emit.edits import Edit
from scanify.emit.loops.comments import comments_in, comments_of, without
from scanify.emit.loops.loops_around import loops_around
from scanify.emit.names.free_names import free_names
from scanify.emit.target import Context
from scanify.emit.text import layout
from scanify.emit.text.loop_text import step_of
from scanify.emit.text.newlines import indent_of, line_start, line_stop, newline_of


def arguments_of(plan: Plan, function: str, in_axes: str | None, text: str) -> tuple[list[str], list[str]]:
    """Return the arguments of `map_via` and of the function that it returns.

    `function` is `Head.__call__`, or "" if the element becomes a lambda, verbatim.
    """
    assert plan.mapped is not None
    if function:
        assert plan.call is not None
        source = {xs.target: xs.source for xs in plan.xs}
        given = []
        for one in plan.call.arguments:
            text = one.text if one.axis is None else source[one.text]
            given.append(f"{one.keyword}={text}" if one.keyword else text)
        return [function, *([f"in_axes={in_axes}"] if plan.xs else [])], given
    first, shared = lambda_of(plan, [plan.layer, *(xs.target for xs in plan.xs)], plan.mapped.element, text)
    alone = len(plan.xs) + len(shared) == 1
    return first, [*(layout.as_argument(xs.source, alone=alone) for xs in plan.xs), *shared]


def lambda_of(plan: Plan, parameters: list[str], body: str, text: str) -> tuple[list[str], list[str]]:
    """Return the lambda with its axes, and the extra arguments for names that loops around it bind."""
    around = loops_around(text, plan.place.span.start, plan.place.span.end)
    whole = f"(lambda {', '.join(parameters)}: {body}\n)"
    shared = (around.given(free_names(whole)) if around is not None else None) or []
    axes = [*(str(xs.axis) for xs in plan.xs), *("None" for _ in shared)]
    first = [f"lambda {', '.join([*parameters, *shared])}: {body}"]
    return [*first, *([f"in_axes={layout.tuple_display(axes)}"] if axes else [])], shared


def in_its_place(plan: Plan, head: str, first: Sequence[str], second: Sequence[str] | None, context: Context) -> Edit:
    """Return the edit that replaces an expression by `head(first)(second)`, or `head(first)`, with its comments."""
    span, text = plan.place.span, context.texts[plan.place.path]
    old = text[span.start : span.end]
    line = text[line_start(text, span.start) : span.start]
    indent = indent_of(line)
    before = line.removeprefix(indent)
    space = " " if line[-1:].isidentifier() else ""  # `return[...]`
    after = text[span.end : line_stop(text, span.end)].partition("#")[0].rstrip()
    style = context.houses[plan.place.path].style(indent, step_of(text, indent), newline_of(text))
    lost = without(comments_in(cst.parse_expression(f"({old}\n)")), _comments((*first, *(second or ()))))
    inner = style.newline + indent + style.step
    if lost:
        body = f",{inner}".join(first)
        last = "" if second is None else f"({', '.join(second)})"
        whole = f"{space}{head}({inner}{inner.join(lost)}{inner}{body},{style.newline}{indent}){last}"
        return Edit(plan.place.path, span.start, span.end, whole)
    head = f"{before}{space}{head}"
    if second is None:
        whole = layout.call(head, first, style, after)
    else:
        whole = layout.curried(head, first, second, style, after)
    return Edit(plan.place.path, span.start, span.end, whole[len(before) : len(whole) - len(after)])


def _comments(texts: Sequence[str]) -> list[str]:
    return [comment for text in texts for comment in comments_of(f"f({text}\n)")]
