"""Reasons against a scan over modules of Flax Linen."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.linen.classes import built_by
from scanify.analysis.linen.loop import KEEP, LinenLoop, Reason
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lower.loop import Order
from scanify.analysis.lower.nodes import names_in, nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.plan import BEYOND_THE_TARGET
from scanify.analysis.project_facts import ProjectFacts

_FEW = 3  # fewer layers than these gain nothing


def reasons_against(project: ProjectFacts, owner: Definition, seen: LinenLoop, shape: LoopShape) -> Iterator[Reason]:
    """Yield the reasons to keep a loop, starting with the one to report."""
    loop, layers, module = seen.loop, seen.layers, seen.layers.module
    for problem in shape.problems:
        yield problem.rule, problem.reason, problem.node, problem.remedy
    if layers.varying is not None:
        text = f"each layer is built with its own value of `{module.code(layers.varying)}`"
        yield "SCN203", text, layers.varying, KEEP
    count = layers.count
    if isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value < _FEW:
        yield "SCN203", f"there are {count.value} layers, of which a scan saves nothing", count, KEEP
    if seen.held and not _is_whole(seen):
        text = f"the loop walks `{loop.code(seen.walk.source)}`, and a scan is over all layers in their order"
        yield BEYOND_THE_TARGET, text, seen.walk.source, KEEP
    if "." in seen.held and not all(name in ("self", "len") or name.isupper() for name in names_in([count])):
        text = f"the number of layers, `{module.code(count)}`, is a name of the function that builds the list"
        yield BEYOND_THE_TARGET, text, count, "make it a field of the module"
    if not shape.carry:
        yield "SCN210", "no value goes from one layer to the next", loop.node, KEEP
    yield from _used_beside(project, owner, seen, shape)
    yield from _other_uses(project, owner, seen)


def _is_whole(seen: LinenLoop) -> bool:
    if seen.walk.order is Order.NUMBERED:
        return seen.walk.numbers in (None, f"range({seen.layers.module.code(seen.layers.count)})")
    return seen.walk.order is Order.WHOLE and len(seen.walk.bases) == 1


def _used_beside(project: ProjectFacts, owner: Definition, seen: LinenLoop, shape: LoopShape) -> Iterator[Reason]:
    """Yield other modules that a body uses: `nn.scan` lifts only the variables of the layers."""
    module, own = seen.loop.module, seen.loop.scope.self_name
    fields = project.classes.fields(owner)
    for node in (each for each in nodes_in(*seen.loop.body) if isinstance(each, ast.Name)):
        above, what = parent_of(module, node), ""
        if node.id == own and not isinstance(above, ast.Attribute):
            what = f"hands on `{own}`"
        elif node.id == own and isinstance(above, ast.Attribute) and above.attr not in fields:
            call = parent_of(module, above)
            what = f"calls `{own}.{above.attr}`" if isinstance(call, ast.Call) and call.func is above else ""
        elif node.id in shape.broadcast:
            values = [value for _, value in home_of(project, module, node).values_of(node.id) if value is not None]
            what = f"applies `{node.id}`" if any(built_by(project, module, each) for each in values) else ""
        if what:
            text = f"the body {what}, whose variables a scan over the layers does not have"
            yield BEYOND_THE_TARGET, text, node, "move it into the layer, or out of the loop"


def _other_uses(project: ProjectFacts, owner: Definition, seen: LinenLoop) -> Iterator[Reason]:
    """Yield the uses of the list other than loops over it, in its class and its subclasses."""
    field = "." in seen.held
    for cls in (owner, *project.classes.heirs(owner)) if field else (owner,):
        for node in nodes_in(cls.node if field else seen.loop.scope.function.node) if seen.held else ():
            if not isinstance(node, ast.Attribute | ast.Name) or dotted(node) != seen.held:
                continue
            stored = cls is owner and getattr(parent_of(cls.module, node), "value", None) is seen.layers.site
            if not stored and not _is_walked(cls.module, node):
                text = f"`{seen.held}` is used as a list (line {node.lineno}), and it becomes one module"
                yield "SCN214", text, node if cls is owner else None, f"{KEEP}, or take that use away"


def _is_walked(module: Module, node: ast.AST) -> bool:
    """True if a use is the iterable of a `for` statement, which has its own decision."""
    below = node
    for above in ancestors(module, node):
        if isinstance(above, ast.stmt):
            return isinstance(above, ast.For) and above.iter is below
        below = above
    return False
