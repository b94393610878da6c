"""Read one loop over modules of Flax Linen as a loop over layers.

    for i in range(n):
        x = Block(dim, name=f"layer_{i}")(x)

builds in each iteration the layer that it applies: it is read as a loop over existing layers.
"""

import ast
from dataclasses import dataclass, replace

from scanify.analysis.index.meaning import Definition
from scanify.analysis.linen.classes import Built, built_in
from scanify.analysis.linen.layers import BuiltLayers, count_of, lists_for
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.lower.loops import read_index
from scanify.analysis.lower.nodes import names_in, nodes_in
from scanify.analysis.lower.scope import scope_of
from scanify.analysis.lower.text import code, dotted, made, unused
from scanify.analysis.plan import BEYOND_THE_TARGET
from scanify.analysis.project_facts import ProjectFacts

KEEP = "keep the loop"
Reason = tuple[str, str, ast.AST | None, str]
"""A reason to keep a loop: the rule, the words, the node concerned, and the remedy."""


@dataclass(frozen=True, eq=False)
class LinenLoop:
    """A loop with its `walk` over layers. `held` names the list that contains them, "" if the loop builds them."""

    loop: Loop
    walk: Walk
    layers: BuiltLayers
    held: str = ""

    @property
    def container(self) -> str:
        """The name of the list, or the class of the layers."""
        return self.held or self.layers.built.name


@dataclass(frozen=True, eq=False)
class UnreadLoop:
    """A loop over modules that is not understood further, and why."""

    loop: Loop
    container: str
    reason: Reason


def linen_loop(project: ProjectFacts, owner: Definition, loop: Loop) -> LinenLoop | UnreadLoop | None:
    """Return the loop, if it applies modules of Flax Linen."""
    lists = list(lists_for(project, owner, loop))
    for walk in loop.walks:
        held = dotted(walk.base) or ""
        match [made for name, made in lists if name == held]:
            case [layers]:
                return LinenLoop(loop, walk, layers, held)
            case [_, other, *_]:
                text = f"a condition chooses how the layers in `{held}` are built"
                return UnreadLoop(loop, held, (BEYOND_THE_TARGET, text, other.built.call, KEEP))
    built = built_in(project, loop.module, *loop.body)
    if not built:
        return None
    layers_or_reason = _built_by_each(loop, built)
    if isinstance(layers_or_reason, BuiltLayers):
        return _over_layers(loop, layers_or_reason)
    return UnreadLoop(loop, ", ".join(each.name for each in built), layers_or_reason)


def _built_by_each(loop: Loop, built: list[Built]) -> BuiltLayers | Reason:
    """Return the layers built one per iteration, or a reason why they are not understood."""
    call, rule, remedy = built[-1].call, BEYOND_THE_TARGET, "make one module of what one iteration does"
    node = loop.node.iter if isinstance(loop.node, ast.For) else loop.node
    count = count_of(loop.module, node) if isinstance(node, ast.expr) and not loop.walks else None
    own = [each for each in built[0].arguments if not names_in([each]).isdisjoint(loop.targets)]
    if len(built) > 1:
        names = ", ".join(f"`{each.name}`" for each in built)
        return rule, f"each iteration builds several modules, {names}, and a scan is over one", call, remedy
    if scope_of(loop.module, call) is not loop.scope:
        return rule, f"`{loop.module.code(call)}` is built in a function of the body", call, remedy
    if own:
        return "SCN203", f"each layer is built with its own value of `{loop.module.code(own[0])}`", own[0], KEEP
    if count is None or not isinstance(loop.target, ast.Name):
        return rule, "each iteration builds its module of what the loop walks, which is no `range(n)`", node, remedy
    return BuiltLayers(loop.module, built[0], loop.target.id, count)


def _over_layers(loop: Loop, layers: BuiltLayers) -> LinenLoop:
    """Return the loop with a name for the layer where it was built."""
    module, call = loop.module, layers.built.call
    match loop.body[0]:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) as first if value is call and _is_bound_once(
            loop, name
        ):
            change = Change(first, None)
        case _:
            seen = {name for scope in loop.scope.chain() for name in scope.locals}
            name = unused("layer", seen | names_in([loop.scope.function.node]))
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


def _is_bound_once(loop: Loop, name: str) -> bool:
    named = (each for each in nodes_in(*loop.body) if isinstance(each, ast.Name) and each.id == name)
    return sum(isinstance(each.ctx, ast.Store) for each in named) == 1
