"""The target `array-stacked`: loops become calls of `scanify.nn.ArrayStacked`."""

from collections.abc import Sequence
from pathlib import Path

from scanify.analysis.plan import After, Annotation, CallStack, InitStack, Kind, LayerCall, Plan, Wrap
from scanify.emit import layout
from scanify.emit.comments import comments_of, without
from scanify.emit.edits import Edit
from scanify.emit.local_function import call_of_local_function, scope_start
from scanify.emit.loop_text import LoopText, end_of_block, loop_text
from scanify.emit.names_in import names_in
from scanify.emit.newlines import indent_width, newline_of
from scanify.emit.target import Context
from scanify.errors import CheckFailed

MODULE = "scanify.nn"
NAME = "ArrayStacked"

# Comments that speak to a tool about their own line: they stay on the statement's line however long it gets.
_PRAGMAS = ("# noqa", "# type:", "# pyright:", "# pylint:", "# fmt:", "# ruff:", "# pragma:", "# ty:")


def files(plan: Plan) -> frozenset[Path]:
    """The files that need the name: where the list is built and annotated, or the loop's own."""
    if isinstance(plan.stack, CallStack):
        return frozenset({plan.place.path})
    return frozenset(item.place.path for item in (*plan.stack.sites, *plan.stack.annotations))


def edits(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """The edits of all plans, imports left out. Raises CheckFailed for a plan that this target cannot express."""
    made: list[Edit] = []
    given: dict[tuple[Path, int], set[str]] = {}  # the names already given to local functions, by scope
    for plan in plans:
        if plan.kind is not Kind.FOLD or plan.ys or not plan.carry:
            raise CheckFailed(
                f"{plan.place}: expected a fold for the target array-stacked, got a {plan.kind.value}"
                f"{' that collects outputs' if plan.ys else ''}; nothing was written; please report this"
            )
        scope = scope_start(context.texts[plan.place.path], plan.place.span.start)
        given_here = given.setdefault((plan.place.path, scope), set())
        made += _loop_edits(plan, context, given_here)
        if isinstance(plan.stack, InitStack):
            made += [_site_edit(site, context) for site in plan.stack.sites]
            made += [_annotation_edit(annotation, context) for annotation in plan.stack.annotations]
    return made


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    path = plan.place.path
    loop = loop_text(plan, context.texts[path])
    stack = layout.attribute_of(plan.container)
    if isinstance(plan.stack, CallStack):
        stack = f"{context.names[path]}.of({plan.container}{_policy(context)})"
    step = loop.indent.removeprefix(loop.loop_indent) or "    "
    statement = _one_call(plan, stack, loop, step)
    if statement is not None:
        return [Edit(path, loop.start, loop.end, _with_comments(statement, loop))]
    return call_of_local_function(plan, stack, loop, context.texts[path], given)


def _one_call(plan: Plan, stack: str, loop: LoopText, step: str) -> str | None:
    """The loop as one statement, where its body is one call of the layer and each xs is one of its arguments."""
    call = plan.call
    if call is None or len(plan.carry) != 1:
        return None
    carry = plan.carry[0]
    head = f"{carry} = {stack}.fold"
    arguments = [carry]
    if call.method == "__call__" and not call.arguments and not plan.xs:
        pass
    elif call.owner is not None and _arguments_stand_alone(plan, call):
        method = f"{call.owner}.{call.method}"
        head += f"_via({method}, in_axes={in_axes(plan, call)})" if call.arguments else f"_via({method})"
        source = {xs.target: xs.source for xs in plan.xs}
        for argument in call.arguments:
            text = argument.text if argument.axis is None else source[argument.text]
            arguments.append(f"{argument.keyword}={text}" if argument.keyword else text)
    else:
        return None
    return layout.call(head, arguments, loop.loop_indent, step, loop.newline)


def _arguments_stand_alone(plan: Plan, call: LayerCall) -> bool:
    """Whether each argument can be taken out of the loop: it is one xs whole, or reads nothing that the loop binds.

    `zip` stops at the shortest of its arguments, so an xs that no argument uses is not dropped: it still has a length.
    """
    per_layer = sorted(argument.text for argument in call.arguments if argument.axis is not None)
    if per_layer != sorted(xs.target for xs in plan.xs):
        return False
    axes = {xs.target: xs.axis for xs in plan.xs}
    bound = {plan.layer, *plan.carry}.union(*(names_in(xs.target) for xs in plan.xs))
    for argument in call.arguments:
        if argument.axis is not None:
            if axes[argument.text] != argument.axis:
                return False
        elif argument.text.startswith("*") or names_in(argument.text) & bound:
            return False
    return True


def in_axes(plan: Plan, call: LayerCall) -> str:
    """The axes of the call's arguments after the carry: `(None, 0)`, or `((None,), {"key": 0})` with keywords."""
    positional = [str(argument.axis) for argument in call.arguments if argument.keyword is None]
    keywords = [f'"{argument.keyword}": {argument.axis}' for argument in call.arguments if argument.keyword]
    axes = layout.tuple_display(positional)
    return f"({axes}, {{{', '.join(keywords)}}})" if keywords else axes


def _with_comments(statement: str, loop: LoopText) -> str:
    """The statement with the loop's comments: one of them behind it, the others above it on lines of their own."""
    lost = without(list(loop.comments), comments_of(statement, loop.loop_indent))
    behind = loop.last_comment or loop.for_comment
    if behind is not None and (layout.fits(f"{statement}  {behind}", loop.loop_indent) or behind.startswith(_PRAGMAS)):
        at = len(lost) - 1 - lost[::-1].index(behind) if loop.last_comment else lost.index(behind)
        del lost[at]
        statement += f"  {behind}"
    return (loop.newline + loop.loop_indent).join([*lost, statement])


def _policy(context: Context) -> str:
    return "" if context.remat is None else f", gradient_checkpointing={context.remat}"


def _site_edit(site: Wrap | After, context: Context) -> Edit:
    path, span = site.place.path, site.place.span
    text, name, policy = context.texts[path], context.names[path], _policy(context)
    if isinstance(site, Wrap):
        old = text[span.start : span.end]
        before = text[span.start - 1 : span.start]
        space = " " if before.isidentifier() else ""  # `return[...]`
        return Edit(path, span.start, span.end, f"{space}{name}.of({layout.as_argument(old, not policy)}{policy})")
    end = end_of_block(text, span.end, indent_width(site.indent + "x"))
    return Edit(path, end, end, f"{newline_of(text)}{site.indent}{site.target} = {name}.of({site.target}{policy})")


def _annotation_edit(annotation: Annotation, context: Context) -> Edit:
    path, span = annotation.place.path, annotation.place.span
    old, name = context.texts[path][span.start : span.end], context.names[path]
    new = name if annotation.element is None else f"{name}[{annotation.element}]"
    quote = old[:1] if old[:1] in ("'", '"') and old[:1] == old[-1:] else ""
    return Edit(path, span.start, span.end, f"{quote}{new}{quote}")
