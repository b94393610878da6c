"""Bodies that are one call of the layer, and bodies that only add to their carries."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.names import flow, reads
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import mentions
from scanify.analysis.lower.text import dotted
from scanify.analysis.plan import Argument, LayerCall


def layer_call(loop: Loop, layer: Walk, carry: Sequence[str], targets: set[str]) -> LayerCall | None:
    """Return the call if the body is `carry = layer.method(carry, ...)` with arguments that need no local function.

    In a loop that yields elements, return it if the element is `layer.method(...)`. The class is not looked up here.
    """
    first: list[str] = []
    call: ast.AST | None = loop.element
    match loop.body:
        case [ast.Assign([ast.Name(name)], value)] if loop.element is None and (name,) == tuple(carry):
            first, call = [name], value
    if loop.element is not None and loop.index is not None and loop.index.read:
        return None
    if not isinstance(layer.target, ast.Name) or not isinstance(call, ast.Call) or _in_parentheses(loop, call):
        return None
    name, _, method = (dotted(call.func) or "").partition(".")
    rest: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if (
        not rest
        or name != layer.target.id
        or "." in method
        or [dotted(each) for each in call.args[: len(first)]] != first
    ):
        return None
    arguments = _arguments(loop, rest[len(first) :], targets.union(first), layer)
    return LayerCall(method or "__call__", None, arguments) if arguments is not None else None


def _in_parentheses(loop: Loop, call: ast.Call) -> bool:
    """True if a call has its own parentheses, which allow a comment in it."""
    return loop.element is None and loop.module.text[: loop.module.span(call).start].rstrip(" \t").endswith("(")


def _arguments(
    loop: Loop, rest: Sequence[ast.expr | ast.keyword], own: set[str], layer: Walk
) -> tuple[Argument, ...] | None:
    """Return arguments that are valid outside the loop, each xs or the same for all layers; None if some are not."""
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
            return None  # it differs by layer, or binds a name: a local function is clearer
        else:
            arguments.append(Argument(loop.code(value), keyword))
    # An xs that no argument uses still limits the iterations of `zip`, and one used twice is iterated over once.
    return tuple(arguments) if sorted(used) == sorted(walked) else None


def only_sums(loop: Loop, carry: Sequence[str]) -> bool:
    """True if the body only adds to its carries, by `total += y` or `total = total + y`: the layers are independent."""
    if loop.element is not None:
        return False
    return all(_is_sum(loop, name) for name in carry)


def _is_sum(loop: Loop, name: str) -> bool:
    added = [term for statement in loop.body for term in _terms(statement, name)]
    walked = {read for walk in loop.walks for read in reads(walk.source)}
    return bool(added) and len(mentions(name, *loop.body)) == sum(added) and name not in walked


def _terms(statement: ast.AST, name: str) -> Iterator[int]:
    """Yield how often a statement that adds to `name` mentions it: once for `+=`, else twice."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add()) if target == name:
            yield 1
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            if target == name and name in (dotted(left), dotted(right)):
                yield 2
