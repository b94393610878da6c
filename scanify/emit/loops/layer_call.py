"""A body that is one call of the layer: the method of the stack that expresses it, and its `in_axes`."""

import ast

from scanify.analysis.plan import LayerCall, Plan
from scanify.emit.names.names_in import names_in
from scanify.emit.text import layout


def fold_call(plan: Plan, start: str) -> tuple[str, list[str], list[str] | None] | None:
    """Return the stack's method, its arguments, and the arguments of the function it returns, if it returns one.

    None if the body is not one call of the layer, or an xs is not one of its arguments.
    """
    call = plan.call
    if call is None or len(plan.carry) != 1 or plan.collections:
        return None
    if call.method == "__call__" and not call.arguments and not plan.xs and not plan.reverse:
        return "fold", [start], None
    if call.owner is None or not arguments_stand_alone(plan, call):
        return None
    function = [f"{call.owner}.{call.method}"]
    if call.arguments:
        function.append(f"in_axes={in_axes(call)}")
    function += options(plan)
    arguments = [start]
    source = {xs.target: xs.source for xs in plan.xs}
    for argument in call.arguments:
        text = argument.text if argument.axis is None else source[argument.text]
        arguments.append(f"{argument.keyword}={text}" if argument.keyword else text)
    return "fold_via", function, arguments


def options(plan: Plan) -> list[str]:
    """Return the options of a scan besides its function."""
    return ["reverse=True"] if plan.reverse else []


def arguments_stand_alone(plan: Plan, call: LayerCall) -> bool:
    """True if each argument can be taken out of the loop: it is a whole xs, or a value that the loop does not bind.

    `zip` stops at the shortest of its arguments, so an xs that no argument uses is not dropped: its length matters.
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
        elif argument.text.startswith("*") or names_in(argument.text) & bound or not _is_plain(argument.text):
            return False
    return True


def _is_plain(text: str) -> bool:
    """True if an expression is a name, an attribute or a constant.

    Any other is computed in the body, as in the loop: the cotangents of `shift.astype(dtype)` are summed after the
    cast.
    """
    return text.replace(".", "").isidentifier() or _is_constant(text)


def _is_constant(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def in_axes(call: LayerCall) -> str:
    """Return the axes of the call's arguments after the carry: `(None, 0)`, or `((None,), {"key": 0})` by keyword."""
    positional = [str(argument.axis) for argument in call.arguments if argument.keyword is None]
    keywords = [f'"{argument.keyword}": {argument.axis}' for argument in call.arguments if argument.keyword]
    axes = layout.tuple_display(positional)
    return f"({axes}, {{{', '.join(keywords)}}})" if keywords else axes
