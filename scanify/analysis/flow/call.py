"""Bodies that are one call of the layer, and bodies that only add to their carries."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.names import flow, reads
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import mentions
from scanify.analysis.lower.text import dotted
from scanify.analysis.plan import Argument, LayerCall


def layer_call(loop: Loop, layer: Walk, carry: Sequence[str], targets: set[str]) -> LayerCall | None:
    """The call, where the body is `carry = layer.method(carry, ...)` with arguments that need no local function.

    Of a loop that gives elements: where the element is `layer.method(...)`. The class is not asked for here.
    """
    if not isinstance(layer.target, ast.Name):
        return None
    first: str | None = None
    call: ast.expr | None = loop.element
    if loop.element is None:
        if len(carry) != 1 or len(loop.body) != 1:
            return None
        match loop.body[0]:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == carry[0]:
                first, call = name, value
            case _:
                return None
    elif loop.index is not None and loop.index.read:
        return None
    if not isinstance(call, ast.Call) or not (call.args or call.keywords) or _in_parentheses(loop, call):
        return None
    method = _method(call, layer.target.id)
    if method is None:
        return None
    rest: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if first is not None:
        if not call.args or dotted(call.args[0]) != first:
            return None
        rest = rest[1:]
    own = targets | ({first} if first is not None else set())
    arguments = _arguments(loop, rest, own, layer)
    return LayerCall(method, None, arguments) if arguments is not None else None


def _in_parentheses(loop: Loop, call: ast.Call) -> bool:
    """Whether a call stands in parentheses of its own, as one does that is to have a comment in it."""
    span, text = loop.module.span(call), loop.module.text
    return loop.element is None and text[: span.start].rstrip(" \t").endswith("(")


def _method(call: ast.Call, layer: str) -> str | None:
    name = dotted(call.func)
    if name == layer:
        return "__call__"
    if name is not None and name.startswith(f"{layer}.") and name.count(".") == 1:
        return name.rpartition(".")[2]
    return None


def _arguments(
    loop: Loop, rest: Sequence[ast.expr | ast.keyword], own: set[str], layer: Walk
) -> tuple[Argument, ...] | None:
    """Arguments that can stand outside of the loop, each one xs or the same for all layers; None where some cannot."""
    beside = [walk for walk in loop.walks if walk is not layer]
    walked = [walk.target.id for walk in beside if isinstance(walk.target, ast.Name)]
    if len(set(walked)) != len(beside):
        return None  # a target that is a pattern
    arguments: list[Argument] = []
    used: list[str] = []
    for each in rest:
        keyword = each.arg if isinstance(each, ast.keyword) else None
        value = each.value if isinstance(each, ast.keyword) else each
        if isinstance(value, ast.Starred) or (isinstance(each, ast.keyword) and keyword is None):
            return None
        name = dotted(value)
        if name is not None and name in walked:
            arguments.append(Argument(name, keyword, axis=0))
            used.append(name)
        elif set(reads(value)) & own or flow([value]).bound:
            return None  # it differs from layer to layer, or binds a name: a local function says so better
        else:
            arguments.append(Argument(loop.code(value), keyword))
    # An xs that no argument uses still counts the iterations of `zip`, and one used twice is walked once.
    return tuple(arguments) if sorted(used) == sorted(walked) else None


def only_sums(loop: Loop, carry: Sequence[str]) -> bool:
    """Whether every name of the carry is added to, by `total += y` or `total = total + y`, and not read otherwise: then
    the layers are independent of one another."""
    if loop.element is not None:
        return False
    return all(_is_sum(loop, name) for name in carry)


def _is_sum(loop: Loop, name: str) -> bool:
    added = [term for statement in loop.body for term in _terms(statement, name)]
    walked = {read for walk in loop.walks for read in reads(walk.source)}
    return bool(added) and len(mentions(name, *loop.body)) == sum(added) and name not in walked


def _terms(statement: ast.AST, name: str) -> Iterator[int]:
    """How often a statement that adds to `name` mentions it: once, or twice where it is written out."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add()) if target == name:
            yield 1
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            if target == name and name in (dotted(left), dotted(right)):
                yield 2
