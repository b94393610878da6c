"""Read one call of a stack's method: the layers, the applied function, the carry and the per-layer arguments."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.emit.loops.enclosing import Module

METHODS = {
    "fold": "fold",
    "fold_via": "fold",
    "collect_via": "collect",
    "map_via": "map",
}
"""The methods that have a loop, with its kind."""

OTHERS = ("scan", "scan_via", "vmap_via", "until_via", "collect_until_via")
"""Other methods that apply layers, which `unroll` does not write as loops."""

_SPEED = ("unroll",)  # options that affect how a scan is computed, not its result


@dataclass(frozen=True)
class Argument:
    """An argument of the function after the layer and the carry: shared by all layers, or one entry per layer."""

    text: str
    keyword: str | None
    per_layer: bool


@dataclass(frozen=True)
class Walk:
    """`stack.method(function, in_axes=...)(initial, *arguments)`.

    `container` is the source of the layers, and `taken` their positions if only some are used; with `reverse`, the last
    one comes first. `function` is None if each layer is called itself, `initial` if nothing is carried.
    """

    call: ast.Call
    stack: ast.expr
    container: ast.expr
    taken: ast.expr | None
    kind: str
    function: ast.expr | None
    initial: ast.expr | None
    arguments: tuple[Argument, ...]
    reverse: bool = False


def method_of(call: ast.Call) -> tuple[ast.expr, str, ast.Call | None] | None:
    """Return the stack and method of a call, and the inner call of `..._via`; None for another call."""
    match call.func:
        case ast.Attribute(stack, name) if name in ("fold", "scan"):
            return stack, name, None
        case ast.Call(ast.Attribute(stack, name)) as inner if name.endswith("_via"):
            return stack, name, inner
    return None


def read_walk(parsed: Module, call: ast.Call, container: ast.expr, taken: ast.expr | None) -> Walk | str:
    """Read the call as a walk over a container; the reason if no loop can be written for it."""
    found = method_of(call)
    assert found is not None
    stack, name, inner = found
    if name not in METHODS:
        return f"`{name}` has no loop that could be written for it"
    options = {each.arg: each.value for each in (inner or call).keywords}
    own = {"in_axes", *_SPEED, "reverse"}
    if inner is not None:
        if len(inner.args) != 1 or not set(options) <= own:
            return f"`{name}` is not given one function alone"
    elif any(isinstance(each, ast.Starred) for each in call.args) or None in options:
        return "what the layers are given is not spelled out (`*` or `**`)"
    reverse = options.get("reverse", ast.Constant(value=False))
    if not isinstance(reverse, ast.Constant) or not isinstance(reverse.value, bool):
        return "it may go through the layers in reverse"
    values, named = list(call.args), [each for each in call.keywords if inner is not None or each.arg not in own]
    if any(isinstance(each, ast.Starred) for each in values) or any(each.arg is None for each in named):
        return "what the layers are given is not spelled out (`*` or `**`)"
    initial = None
    if METHODS[name] != "map":
        if not values:
            return "its carry is no positional argument"
        initial, *values = values
    axes = _axes(options.get("in_axes"), len(values), [str(each.arg) for each in named])
    if axes is None:
        return f"its `in_axes` are not axes 0 and None that stand there as such: {parsed.code(options['in_axes'])}"
    arguments = [Argument(parsed.code(value), None, axis) for value, axis in zip(values, axes, strict=False)]
    later = axes[len(values) :]
    arguments += [
        Argument(parsed.code(each.value), str(each.arg), axis) for each, axis in zip(named, later, strict=True)
    ]
    if reverse.value and (METHODS[name] != "fold" or taken is not None or any(each.per_layer for each in arguments)):
        return "it goes through more than its layers in reverse"
    function = inner.args[0] if inner is not None else None
    return Walk(call, stack, container, taken, METHODS[name], function, initial, tuple(arguments), reverse.value)


def _axes(node: ast.expr | None, count: int, keywords: Sequence[str]) -> list[bool] | None:
    """Return for each argument whether it is per layer; None if that is not known."""
    try:
        given = None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    if given is None or given == 0:
        both: tuple[object, object] = (given, given)
    elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], dict):
        both = given
    elif isinstance(given, tuple) and not any(isinstance(each, dict) for each in given):
        both = (given, None)
    else:
        return None
    first, second = both
    found = list(first) if isinstance(first, tuple | list) else [first] * count
    found += [second.get(name) if isinstance(second, dict) else second for name in keywords]
    known = len(found) == count + len(keywords) and all(each is None or each == 0 for each in found)
    return [each is not None for each in found] if known else None
