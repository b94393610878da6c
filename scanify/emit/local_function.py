"""The loop's body as a local function, kept word for word: only the header changes, and a `return` is added."""

import re

import libcst as cst

from scanify.analysis.plan import Plan
from scanify.emit import layout
from scanify.emit.comments import comments_of, without
from scanify.emit.early_exits import body_of_function
from scanify.emit.edits import Edit
from scanify.emit.enclosing import begins_function
from scanify.emit.fresh_name import fresh
from scanify.emit.loop_text import LoopText
from scanify.emit.newlines import indent_width, line_start, line_stop, previous_line
from scanify.emit.outputs import outputs_of

_DEF = re.compile(r"(?:^|(?<=[\r\n]))([ \t]*)(?:async[ \t]+)?def\b")


def scope_start(text: str, offset: int) -> int:
    """The offset of the `def` that the statement at `offset` stands in, 0 for the module. For choosing names only."""
    column = indent_width(text[line_start(text, offset) : line_stop(text, offset)])
    around = [found.start() for found in _DEF.finditer(text, 0, offset) if indent_width(found[1] + "x") < column]
    return around[-1] if around else 0


def call_of_local_function(plan: Plan, stack: str, loop: LoopText, text: str, given: set[str]) -> list[Edit]:
    """The edits that turn the loop into a function over one layer and a call of `fold_via` or `collect_via`.

    `given` holds the names of the functions already made in the loop's scope, and takes this one's.
    """
    style, newline = loop.style, loop.style.newline
    function = fresh(f"apply_{_one_name(plan.layer).lstrip('_') or 'layer'}", plan.taken | given)
    given.add(function)
    parameters, unpacking = _parameters(plan)
    carry = layout.pattern(plan.carry)
    state = f"({carry})" if len(plan.carry) > 1 else carry
    outputs = outputs_of(plan.collections, plan.exits, carry, state, plan.taken | given)
    lines = [
        f"def {function}({', '.join(parameters)}):{loop.after_colon}",
        *(f"{loop.indent}{line}" for line in (*unpacking, *outputs.begin)),
    ]
    apply = [function, *([f"in_axes={layout.tuple_display([str(xs.axis) for xs in plan.xs])}"] if plan.xs else [])]
    head = f"{outputs.assigned} = {stack}.{outputs.method}"
    given_carry = layout.pattern(["None" if name in plan.unset else name for name in plan.carry])
    first = f"({given_carry})" if len(plan.carry) > 1 else given_carry
    call = layout.curried(head, apply, [first, *(xs.source for xs in plan.xs)], style, outputs.behind)
    blank = newline * (1 if style.indent else 2)
    end = f"{loop.indent}return {outputs.returned}{newline}{blank}{style.indent}{call}"
    after = "".join(f"{newline}{style.indent}{style.step * depth}{line}" for depth, line in outputs.after)
    new = newline.join(lines) + newline + body_of_function(plan, loop, outputs, state) + end + after
    above = without(list(loop.comments), comments_of(new, style.indent))
    whole = (newline + style.indent).join([*above, new])
    if plan.ahead:
        ahead = "".join(f"{line}{newline}{style.indent}" for line in plan.ahead)
        whole = f"{ahead.rstrip(' ' + chr(9))}{blank}{style.indent}{whole}"
    made = [Edit(plan.place.path, loop.start, loop.end, whole)]
    at = _blank_line_before(text, loop) if not plan.ahead else None
    return made if at is None else [Edit(plan.place.path, at, at, blank), *made]


def _parameters(plan: Plan) -> tuple[list[str], list[str]]:
    """The function's parameters, and the lines that unpack those which are not single names."""
    used = set(plan.taken) | {plan.layer, *plan.carry, *(xs.target for xs in plan.xs)}
    unpacking = []
    state = plan.carry[0]
    if len(plan.carry) > 1:
        state = fresh("carry", used)
        used.add(state)
        unpacking.append(f"{layout.pattern(plan.carry)} = {state}")
    layer = plan.layer
    if not layer.isidentifier():
        layer = fresh("layer", used)
        used.add(layer)
        unpacking.append(f"{_flat(plan.layer)} = {layer}")
    parameters = [layer, state]
    for index, xs in enumerate(plan.xs):
        later = {other.target for other in plan.xs[index + 1 :]}
        if xs.target.isidentifier() and xs.target not in later:
            parameters.append(xs.target)
            continue
        name = fresh("item", used)  # a pattern, or a name that a later target binds again (`_, _`)
        used.add(name)
        parameters.append(name)
        if not xs.target.isidentifier():
            unpacking.append(f"{_flat(xs.target)} = {name}")
    return parameters, unpacking


def _one_name(layer: str) -> str:
    """The layer's name; "layer" where it is a tuple that the loop unpacks."""
    return layer if layer.isidentifier() else "layer"


def _flat(target: str) -> str:
    """A tuple pattern without its outer parentheses, as one writes it in an assignment."""
    if "\n" in target or "\r" in target:
        return target
    node = cst.parse_expression(target)
    if isinstance(node, cst.Tuple) and len(node.lpar) == 1 and node.elements:
        return cst.Module([]).code_for_node(node.with_changes(lpar=[], rpar=[])).strip()
    return target


def _blank_line_before(text: str, loop: LoopText) -> int | None:
    """Where black would put a blank line above the function: None where there is one or where a function begins.

    Comments above the loop stay with it.
    """
    at = line_start(text, loop.start)
    column = indent_width(loop.style.indent + "x")
    while at > 0:
        above = previous_line(text, at)
        line = text[above:at]
        # A quote may be the end of a string over several lines.
        if line.lstrip().startswith("#") and indent_width(line) == column and '"' not in line and "'" not in line:
            at = above
            continue
        return at if line.strip() and not begins_function(text, loop.start) else None
    return None
