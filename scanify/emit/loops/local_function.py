"""A loop as a function over one layer, followed by a call of `fold_via`, `collect_via` or `map_via`."""

import re
from collections.abc import Set

from scanify.analysis.plan import Plan
from scanify.emit.edits import Edit
from scanify.emit.loops.comments import comments_of, without
from scanify.emit.loops.enclosing import begins_function
from scanify.emit.loops.function import flat, function_over_layer
from scanify.emit.loops.layer_call import options
from scanify.emit.loops.loops_around import loops_around
from scanify.emit.loops.made_empty import made_empty
from scanify.emit.names.free_names import free_names
from scanify.emit.names.fresh_name import fresh
from scanify.emit.text import layout
from scanify.emit.text.loop_text import LoopText
from scanify.emit.text.newlines import indent_of, indent_width, line_start, line_stop, previous_line

_WORD = re.compile(r"[^\W\d]\w*")
_DEF = re.compile(r"(?:^|(?<=[\r\n]))([ \t]*)(?:async[ \t]+)?def\b")


def scope_start(text: str, offset: int) -> int:
    """Return the offset of the `def` around the statement at `offset`, 0 for the module. Only used to choose names."""
    column = indent_width(text[line_start(text, offset) : line_stop(text, offset)])
    around = [found.start() for found in _DEF.finditer(text, 0, offset) if indent_width(found[1] + "x") < column]
    return around[-1] if around else 0


def call_of_local_function(plan: Plan, stack: str, loop: LoopText, text: str, given: set[str]) -> list[Edit]:
    """Return the edits that turn the loop into a function over one layer and a call of `fold_via`, `collect_via`,
    `map_via`.

    `given` holds the names of functions already made in the loop's scope; this one's is added.
    """
    style, newline = loop.style, loop.style.newline
    name = fresh(f"apply_{one_name(plan.layer).lstrip('_') or 'layer'}", plan.taken | given)
    given.add(name)
    parameters, unpacking = layer_parameters(plan, words(loop.body))
    around = loops_around(text, loop.start, loop.end)
    fills = around is None and made_empty(plan, loop, text)
    function = function_over_layer(plan, loop, name, parameters, unpacking, given, fills=fills)
    shared = around.given(free_names(f"{function.text}{newline}")) if around is not None else []
    front = None
    if around is not None and shared is not None:
        function = function_over_layer(plan, loop, name, [*parameters, *shared], unpacking, given)
        front = _moved(function.text, style, around.indent)
    axes = [str(xs.axis) for xs in plan.xs] + ["None" for _ in shared or () if front is not None]
    apply = [name, *([f"in_axes={layout.tuple_display(axes)}"] if axes else []), *options(plan)]
    head = f"{function.outputs.assigned} = {stack}.{function.outputs.method}"
    initial = layout.pattern(["None" if one in plan.unset else one for one in plan.carry])
    first = [f"({initial})" if len(plan.carry) > 1 else initial] if plan.carry else []
    others = [xs.source for xs in plan.xs] + [one for one in shared or () if front is not None]
    call = layout.curried(head, apply, [*first, *others], style, function.outputs.behind)
    call += "".join(f"{newline}{style.indent}{style.step * depth}{line}" for depth, line in function.outputs.after)
    blank = newline * (1 if style.indent else 2)
    if front is not None and around is not None:
        above = without(list(loop.comments), comments_of(function.text, style.indent))
        stay = (newline + style.indent).join([*above, call])
        blank = newline * (1 if around.indent else 2)
        before = "" if _stands_apart(text, around.front) else blank
        made = Edit(plan.place.path, around.front, around.front, f"{before}{front}{newline}{blank}")
        return [made, Edit(plan.place.path, loop.start, loop.end, stay)]
    new = f"{function.text}{newline}{blank}{style.indent}{call}"
    above = without(list(loop.comments), comments_of(new, style.indent))
    whole = (newline + style.indent).join([*above, new])
    made_here = [Edit(plan.place.path, loop.start, loop.end, whole)]
    at = blank_line_before(text, loop)
    return made_here if at is None else [Edit(plan.place.path, at, at, blank), *made_here]


def _moved(function: str, style: layout.Style, indent: str) -> str | None:
    """Reindent the function; None if one of its lines cannot be moved."""
    if '"""' in function or "'''" in function or "\\\n" in function:
        return None
    lines = function.split(style.newline)
    if any(line.strip() and not line.startswith(style.indent) for line in lines[1:]):
        return None
    moved = (indent + line.removeprefix(style.indent) if line.strip() else line for line in lines[1:])
    return style.newline.join([indent + lines[0], *moved])


def _stands_apart(text: str, at: int) -> bool:
    """True if text inserted in front of a line needs no blank line above it."""
    if at == 0:
        return True
    above = text[previous_line(text, at) : at]
    start = at + len(indent_of(text[at:]))
    return not above.strip() or begins_function(text, start)


def layer_parameters(plan: Plan, taken: Set[str] | None = None) -> tuple[list[str], list[str]]:
    """Return the function's parameters, and the lines that unpack those which are not single names.

    `taken` are the names in the function's body; by default, those of the whole file.
    """
    own = (name for one in (plan.layer, *plan.carry, *(xs.target for xs in plan.xs)) for name in words(one))
    used = {*(plan.taken if taken is None else taken), *own}
    unpacking = []
    state = [*plan.carry]
    if len(plan.carry) > 1:
        state = [fresh("carry", used)]
        used.add(state[0])
        unpacking.append(f"{layout.pattern(plan.carry)} = {state[0]}")
    layer = plan.layer
    if not layer.isidentifier():
        layer = fresh("layer", used)
        used.add(layer)
        unpacking.append(f"{flat(plan.layer)} = {layer}")
    parameters = [layer, *state]
    for index, xs in enumerate(plan.xs):
        later = {other.target for other in plan.xs[index + 1 :]}
        if xs.target.isidentifier() and xs.target not in later:
            parameters.append(xs.target)
            continue
        name = fresh("item", used)  # a pattern, or a name that a later target binds again (`_, _`)
        used.add(name)
        parameters.append(name)
        if not xs.target.isidentifier():
            unpacking.append(f"{flat(xs.target)} = {name}")
    return parameters, unpacking


def words(code: str) -> set[str]:
    """Return the identifiers in a piece of code, including its comments and strings."""
    return set(_WORD.findall(code))


def one_name(layer: str) -> str:
    """Return the layer's name, or "layer" if the loop unpacks a tuple."""
    return layer if layer.isidentifier() else "layer"


def blank_line_before(text: str, loop: LoopText) -> int | None:
    """Return where black would put a blank line above the function; None if there is one or if a function begins there.

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
