"""The places where a list of layers is built and annotated, with a stack written by the target."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scanify.analysis.facts import Span
from scanify.analysis.plan import Plan
from scanify.analysis.stack import After, InitStack, OneTrace, Wrap
from scanify.emit.edits import Edit
from scanify.emit.loops import annotations
from scanify.emit.loops.enclosing import module
from scanify.emit.loops.local_list import local_list
from scanify.emit.target import Context
from scanify.emit.text import layout
from scanify.emit.text.house_style import HouseStyle
from scanify.emit.text.loop_text import end_of_block, step_of
from scanify.emit.text.newlines import LINE_END, indent_of, indent_width, line_start, line_stop, newline_of

_OF_GENERATOR = re.compile(r"(tuple|list)\(")


@dataclass(frozen=True)
class Stacking:
    """How a target writes a stack in one file: `head(layers, *more)`.

    `annotation` gives the type of a stack of a class, or of any class for None. `built` gives the head and the first
    arguments of a call that builds all layers at once; None if the target has none or the plan does not allow it.
    """

    head: str
    more: tuple[str, ...]
    annotation: Callable[[str | None], str]
    built: Callable[[OneTrace], tuple[str, list[str]]] | None = None


def site_edits(plan: Plan, context: Context, stacking: Callable[[Path], Stacking]) -> list[Edit]:
    """Return the edits where the list is built and annotated; none if it is stacked in the call."""
    if not isinstance(plan.stack, InitStack):
        return []
    made = []
    for each in plan.stack.annotations:
        path, span = each.place.path, each.place.span
        old = context.texts[path][span.start : span.end]
        new = annotations.stacked(old, stacking(path).annotation, each.element)
        made.append(Edit(path, span.start, span.end, new))
    for site in plan.stack.sites:
        made += _edits_of(site, context, stacking(site.place.path))
    known = {(edit.path, edit.start) for edit in made}
    for site in plan.stack.sites:
        beside = _edits_beside(site, context, stacking(site.place.path))
        made += [edit for edit in beside if (edit.path, edit.start) not in known]
    return made


def _edits_beside(site: Wrap | After, context: Context, how: Stacking) -> list[Edit]:
    """Edit the annotations of names that are assigned the stack."""
    if not isinstance(site, Wrap):
        return []
    path = site.place.path
    text = context.texts[path]
    return [
        Edit(path, start, end, annotations.stacked(old, how.annotation, annotations.element_of(old)))
        for start, end, old in ((start, end, text[start:end]) for start, end in annotations.beside(site, text))
    ]


def _edits_of(site: Wrap | After, context: Context, how: Stacking) -> list[Edit]:
    path, span = site.place.path, site.place.span
    text, house = context.texts[path], context.houses[path]
    if isinstance(site, Wrap):
        if site.built is not None and how.built is not None:
            new = _built(text, span, how.built(site.built), site.built.arguments, house)
        else:
            new = _wrapped(text, span, how, house)
        return [Edit(path, span.start, span.end, new)]
    style = _style(text, site.indent, house)
    end = end_of_block(text, span.end, indent_width(site.indent + "x"))
    filled, mentions = local_list(site, text) or (site.target, [])
    statement = layout.call(f"{site.target} = {how.head}", [filled, *how.more], style)
    renamed = [Edit(path, start, stop, filled) for start, stop in mentions]
    return [*renamed, Edit(path, end, end, f"{style.newline}{site.indent}{statement}")]


def _built(text: str, span: Span, call: tuple[str, list[str]], arguments: tuple[str, ...], house: HouseStyle) -> str:
    """Write `ArrayStacked.init(n, Block)(dim, key=keys)` in place of the list that it builds."""
    line = text[line_start(text, span.start) : span.start]
    style = _style(text, indent_of(line), house)
    before = line.removeprefix(style.indent) + (" " if line[-1:].isidentifier() else "")  # `return[...]`
    after = text[span.end : line_stop(text, span.end)].partition("#")[0].rstrip()
    head, first = call
    new = layout.curried(f"{before}{head}", first, arguments, style, after)
    return new[len(line.removeprefix(style.indent)) : len(new) - len(after)]


def _wrapped(text: str, span: Span, how: Stacking, house: HouseStyle) -> str:
    """Wrap the expression in `ArrayStacked.of(...)`; one that spans lines keeps its layout."""
    old = _as_list(text[span.start : span.end], text)
    arguments = [layout.as_argument(old, alone=not how.more), *how.more]
    line = text[line_start(text, span.start) : span.start]
    space = " " if line[-1:].isidentifier() else ""  # `return[...]`
    if LINE_END.search(old):
        return f"{space}{how.head}({', '.join(arguments)})"
    style = _style(text, indent_of(line), house)
    before = line.removeprefix(style.indent)
    after = text[span.end : line_stop(text, span.end)].partition("#")[0].rstrip()
    new = layout.call(f"{before}{space}{how.head}", arguments, style, after)
    return new[len(before) : len(new) - len(after)]


def _as_list(old: str, text: str) -> str:
    """Write `[... for ...]` instead of `tuple(... for ...)`, which a stack does not need."""
    found = _OF_GENERATOR.match(old)
    if found is None or re.search(rf"\b{found[1]}\s*=|\b(?:def|class)\s+{found[1]}\b", text):
        return old
    parsed = module(old)
    match parsed.tree.body if parsed is not None else []:
        case [ast.Expr(ast.Call(ast.Name(), [ast.GeneratorExp()], []))]:
            return f"[{old[found.end() : -1]}]"
    return old


def _style(text: str, indent: str, house: HouseStyle) -> layout.Style:
    return house.style(indent, step_of(text, indent), newline_of(text))
