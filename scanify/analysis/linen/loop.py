"""One loop over modules of Flax Linen, as the loop over layers that it is.

    for i in range(n):
        x = Block(dim, name=f"layer_{i}")(x)

builds in each iteration the layer that it applies: it is read as a walk of layers that are there already.
"""

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace

from scanify.analysis.flow.names import flow
from scanify.analysis.linen.built_layers import BuiltLayers, built_in, counted_by, given_name
from scanify.analysis.linen.classes import Built, LinenClasses
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.lower.loops import read_index
from scanify.analysis.lower.nodes import names_in
from scanify.analysis.lower.scope import parent_of, scope_of
from scanify.analysis.lower.text import code, dotted, made, unused
from scanify.analysis.plan import BEYOND_THE_TARGET

Lists = dict[str, list[BuiltLayers]]


@dataclass(frozen=True, eq=False)
class LinenLoop:
    """A loop, which of its walks are the layers, and how these are built.

    `held` names the list that they are in, "" where the loop `builds` them. `unread` says why nothing more is known,
    with the node that says so, `rule` the rule of that.
    """

    loop: Loop
    layer: Walk | None
    layers: BuiltLayers | None
    held: str = ""
    builds: tuple[Built, ...] = ()
    unread: tuple[str, ast.AST] | None = None
    rule: str = BEYOND_THE_TARGET


def linen_loop(classes: LinenClasses, loop: Loop, lists: Lists) -> LinenLoop | None:
    """The loop, if it applies modules of Flax Linen; `lists` are those of its class and of its function."""
    for walk in loop.walks:
        held = dotted(walk.base) or ""
        layers = lists.get(held)
        if layers and len(layers) > 1:
            text = f"a condition chooses how the layers in `{held}` are built"
            return LinenLoop(loop, None, None, held, unread=(text, layers[1].built.call))
        if layers:
            return LinenLoop(loop, walk, layers[0], held)
    made_here = built_in(classes, loop.scope, loop.body)
    return replace(_building(loop, made_here), builds=tuple(made_here)) if made_here else None


def _building(loop: Loop, found: list[Built]) -> LinenLoop:
    first = found[0]
    if len(found) > 1:
        names = ", ".join(f"`{each.name}`" for each in found)
        text = f"each iteration builds several modules, {names}, and a scan is over one"
        return LinenLoop(loop, None, None, unread=(text, found[1].call))
    if scope_of(loop.module, first.call) is not loop.scope:
        what = f"`{loop.module.code(first.call)}` is built in a function of the body"
        return LinenLoop(loop, None, None, unread=(what, first.call))
    node = loop.node
    counted = counted_by(loop.scope, node.iter) if isinstance(node, ast.For) else None
    if counted is None or loop.walks or not isinstance(loop.target, ast.Name):
        own = next((each for each in (*first.call.args, *first.call.keywords) if _mentions(each, loop.targets)), None)
        if own is not None:
            text = f"each layer is built with its own `{loop.module.code(own)}`"
            return LinenLoop(loop, None, None, unread=(text, own), rule="SCN203")
    filled = _filled_by(loop, first)
    if filled is not None:
        text = f"it fills `{loop.module.code(filled)}`, which is not read as a list of one call for each number alone"
        return LinenLoop(loop, None, None, unread=(text, filled))
    if counted is None or loop.walks or not isinstance(loop.target, ast.Name):
        reason = "each iteration builds its module of what the loop walks, which is no `range(n)`"
        return LinenLoop(loop, None, None, unread=(reason, getattr(node, "iter", node)))
    layers = BuiltLayers(loop.scope, first, loop.target.id, counted, given_name(first))
    return _walking(loop, first, layers)


def _filled_by(loop: Loop, built: Built) -> ast.expr | None:
    """The list that a loop puts a module into where it builds it."""
    match parent_of(loop.module, built.call):
        case ast.Call(func=ast.Attribute(value=filled, attr="append" | "insert")):
            return filled
        case _:
            return None


def _mentions(node: ast.AST, names: Collection[str]) -> bool:
    return getattr(node, "arg", None) != "name" and not names_in([node]).isdisjoint(names)


def _walking(loop: Loop, built: Built, layers: BuiltLayers) -> LinenLoop:
    """The loop, with a name for the layer where it was built."""
    module, call = loop.module, built.call
    given = next((each for each in loop.body if isinstance(each, ast.Assign) and each.value is call), None)
    match given:
        case ast.Assign(targets=[ast.Name(id=name)]) if _bound_once(loop, name):
            change = Change(given, None)
        case _:
            name = unused("layer", _seen_from(loop))
            change = Change(call, name)
    body, replaced = rebuilt(module, loop.body, [change])
    assert isinstance(loop.node, ast.For)
    source = loop.node.iter
    numbers = code(module, source)
    target = made(ast.Name(name, ast.Store()), source)
    walk = Walk(target, source, source, numbers, numbers, numbers, order=Order.NUMBERED, numbers=numbers)
    changed = replace(
        loop,
        walks=(walk,),
        index=read_index(loop.index, body),
        body=body,
        replaced=tuple(sorted((*loop.replaced, *replaced), key=lambda each: (each.start, each.end))),
    )
    return LinenLoop(changed, walk, layers)


def _seen_from(loop: Loop) -> set[str]:
    """The names that mean something where a loop stands, and those in its function."""
    return {name for scope in loop.scope.chain() for name in scope.locals} | names_in([loop.scope.function.node])


def _bound_once(loop: Loop, name: str) -> bool:
    """Whether a body binds a name in one statement, and reads it behind that alone."""
    bound = [
        node
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return len(bound) == 1 and name not in flow(loop.body).read_first
