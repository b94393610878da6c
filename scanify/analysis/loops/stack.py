"""Where a list of layers can be stacked: where it is built, if a stack serves every use of it; else in the call."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.loops.lists.field import changes_what_is_assigned, copies_what_is_assigned
from scanify.analysis.loops.lists.layer_list import Layers, sources_of
from scanify.analysis.loops.one_trace import in_one_trace
from scanify.analysis.loops.touched import touched_layer
from scanify.analysis.lower.loop import Loop, Order
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import After, Annotation, CallStack, InitStack, Wrap
from scanify.analysis.values import tables
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.code.annotations import unquoted
from scanify.analysis.values.heap import DictCell, Does, ListCell, Use
from scanify.analysis.values.run.interpreter import Interpreter, Stored

StackChoice = Literal["init", "call"] | None

_SERVED = frozenset({Does.WALK, Does.INDEX, Does.SLICE, Does.LENGTH, Does.TEST})
_WORDS = {
    Does.GROW: "the list grows after it was built",
    Does.CHANGE: "the list is changed by `{what}`",
    Does.PASS: "the list itself is given to `{what}`",
    Does.READ: "the list itself is given to `{what}`",
    Does.TEXT: "`{what}` makes text of the list",
    Does.JOIN: "another list is made of it with `+` or `*`",
    Does.COMPARE: "the list is compared",
    Does.TYPE: "code asks for the type of the list",
    Does.ATTRIBUTE: "code asks for `.{what}` of the list",
    Does.STORE: "the list is kept under another name, in another object",
    Does.REPLACE: "`{what}` replaces a part of the list",
    Does.RETURN: "the list itself is returned",
}
# The uses that look at how a tree holds its layers: what a stack would change there has a page.
_RULES = {Does.REPLACE: "SCN316", Does.TYPE: "SCN318"}


@dataclass(frozen=True)
class Refused:
    """Why a list cannot be stacked in the way that is asked for."""

    rule: str
    reason: str
    place: Place | None
    remedy: str = "use `--stack call`"


def choose_stack(
    run: Interpreter,
    loop: Loop,
    layers: Layers,
    choice: StackChoice,
    given: frozenset[object],
    stays: Place | None = None,
) -> InitStack | CallStack | Refused:
    """Where the layers of a loop are stacked.

    `given` are the files that may be changed, `stays` is another loop over the list that is not rewritten.
    """
    if choice == "call":
        return CallStack()
    if layers.trees:
        return CallStack("a list of parameters stays one: who has it may save it, and update it")
    base = loop.module.code(layers.walk.base) if not layers.walk.element else layers.walk.text
    if layers.of_dict:
        if choice == "init" and not layers.view:
            return Refused("SCN214", f"`{base}` is a dict, which no stack can replace", None)
        return CallStack(f"the layers are the values of the dict `{base}`")
    if layers.walk.order in (Order.REVERSED, Order.SLICE, Order.OTHER) or len(layers.walk.bases) > 1:
        return CallStack(f"the loop walks a part of the list, or in another order: `{layers.walk.text}`")
    if layers.view:
        return CallStack(f"`{base}` is a part of a list, or one of several lists")
    if layers.optional and not (layers.owner is not None and layers.known and not layers.given):
        return CallStack(f"`{base}` may be None")
    if not layers.known:
        return CallStack(layers.unlike or "the source does not show the list")
    if layers.given:
        if choice == "init":
            return Refused("SCN201", f"the list is {layers.given}, which the caller builds", None)
        return CallStack(f"the list is {layers.given}")
    sites = _sites(run, loop, layers, given)
    if isinstance(sites, Refused):
        return sites if choice == "init" or sites.rule == "SCN214" else CallStack(sites.reason, sites.place)
    held = _held(run, layers, choice)
    if held is not None:
        return held
    kept = _other_use(run, layers) or _kept_at(assigned_elsewhere(run, layers))
    if kept is None and stays is not None:
        kept = CallStack("another loop over it stays as it is", stays)  # and would take a stack apart in each call
    if kept is not None:
        if choice == "init":
            return Refused("SCN214", kept.reason, kept.at, "use `--stack call`, which leaves the list as it is")
        return kept
    return InitStack(tuple(dict.fromkeys(sites)), tuple(dict.fromkeys(_annotations(run, loop, layers))))


# -- other uses ------------------------------------------------------------------------------------------------------


def _other_use(run: Interpreter, layers: Layers) -> CallStack | None:
    """The list as it is, for the first use of it that needs a Python list."""
    for cell in layers.cells:
        for use in cell.uses:
            reason = _needs_list(run, cell, use)
            if reason is not None:
                return CallStack(reason, use.place, _RULES.get(use.does, ""))
        touched = _kept_at(touched_layer(run, cell))
        if touched is not None:
            return touched
    return None


def _kept_at(use: tuple[str, Place] | None) -> CallStack | None:
    return CallStack(*use) if use is not None else None


def assigned_elsewhere(run: Interpreter, layers: Layers) -> tuple[str, Place] | None:
    """An assignment to the field from outside of the class."""
    for owner, attribute in _holding(run, layers, sources_of(layers)):
        for cls in (*run.classes.lineage(owner), *run.classes.heirs(owner)):
            replaced = run.replaced.get((cls.node, attribute))
            if replaced is not None:
                return f"`{replaced.what}` puts another list in its place", replaced.place
        replaced = run.replaced_by_name.get(attribute)
        if replaced is not None:
            return f"`{replaced.what}` may put another list in its place", replaced.place
    return None


def fields_of(run: Interpreter, layers: Layers) -> list[tuple[Definition, str]]:
    """The fields that hold the list, under every name."""
    return _holding(run, layers, layers.cells)


def _holding(
    run: Interpreter,
    layers: Layers,
    cells: Iterable[ListCell | DictCell],
    counts: Callable[[Stored], bool] = lambda stored: True,
) -> list[tuple[Definition, str]]:
    found = {}
    if layers.owner is not None and layers.attribute is not None:
        found[layers.owner.node, layers.attribute] = layers.owner
    for cell in cells:
        for stored in run.stores.get(cell.node, {}).values():
            if stored.owner is not None and stored.attribute is not None and counts(stored):
                found.setdefault((stored.owner.node, stored.attribute), stored.owner)
    return [(owner, attribute) for (_, attribute), owner in found.items()]


def _needs_list(run: Interpreter, cell: ListCell | DictCell, use: Use) -> str | None:
    if use.does in _SERVED:
        return None
    if _is_built(run, cell, use) and use.does in (Does.GROW, Does.JOIN, Does.RETURN):
        return None  # how it is built is for `_sites`
    return _WORDS[use.does].format(what=use.what)


def _is_built(run: Interpreter, cell: ListCell | DictCell, use: Use) -> bool:
    """Whether a use comes before the list is kept anywhere: in the constructor, or in the function that gives it."""
    if use.building or not use.making:
        return use.building
    stores = run.stores.get(cell.node, {}).values()
    own = [each for each in stores if each.function is cell.function]
    return len(own) < len(stores) and all(each.attribute is None for each in own)


def may_be_empty(layers: Layers) -> bool:
    """Whether other code asks if there are any layers at all."""
    return any(use.does is Does.TEST and use.what == "truth" for cell in layers.cells for use in cell.uses)


def changed_at(run: Interpreter, layers: Layers) -> Place | None:
    """Where other layers may be put into the list than those it was built of."""
    return _used_at(run, layers, (Does.GROW, Does.CHANGE, Does.PASS, Does.STORE))


def may_be_replaced(run: Interpreter, layers: Layers) -> bool:
    """Whether other layers may be in the list by the time that it is walked: then their class is unknown."""
    return _used_at(run, layers, (Does.GROW, Does.CHANGE, Does.PASS, Does.STORE, Does.REPLACE)) is not None


def _used_at(run: Interpreter, layers: Layers, changers: Sequence[Does]) -> Place | None:
    for cell in sources_of(layers):
        for use in cell.uses:
            if use.does in changers and not _is_built(run, cell, use):
                return use.place
    return None


# -- sites -----------------------------------------------------------------------------------------------------------


def _sites(run: Interpreter, loop: Loop, layers: Layers, given: frozenset[object]) -> list[Wrap | After] | Refused:
    sites: list[Wrap | After] = []
    for cell in layers.cells:
        assert isinstance(cell, ListCell)
        if not cell.whole:
            return Refused("SCN201", f"the source does not show all of the list: {cell.why}", cell.why_at)
        stores = _stores(run, loop, layers, cell)
        if not stores:
            return Refused("SCN201", "the list is not assigned to a field or a name that could hold a stack", None)
        for stored in stores:
            site = _site(run, loop, layers, cell, stored)
            if isinstance(site, Refused):
                return site
            if site.place.path not in given:
                remedy = f"give `{site.place.path}` too, or use `--stack call`"
                return Refused(
                    "SCN201", f"the list is built in `{site.place.path}`, which was not given", site.place, remedy
                )
            sites.append(site)
    return sites


def _stores(run: Interpreter, loop: Loop, layers: Layers, cell: ListCell | DictCell) -> list[Stored]:
    """The assignments at which a list can be stacked: those to the field that holds it, or to the loop's own name."""
    known = [each for each in run.stores.get(cell.node, {}).values() if _is_all_that_is_given(run, each)]
    fields = [each for each in known if each.attribute is not None and each.owner is not None]
    if layers.attribute is not None:
        return [each for each in fields if each.attribute == layers.attribute]
    if fields:
        return fields
    names = [each for each in known if isinstance(each.target, ast.Name) and each.function is _function(loop)]
    return sorted(names, key=lambda each: each.clock)[:1] if names else []


def _is_all_that_is_given(run: Interpreter, stored: Stored) -> bool:
    """Whether an assignment is one; an argument of a constructor is one where all those are seen, and their uses."""
    if stored.target is not stored.value or stored.owner is None or stored.attribute is None:
        return True
    handed = run.handed.get((stored.owner.node, stored.attribute))
    return handed is not None and not handed.by_callers


def _function(loop: Loop) -> ast.AST | None:
    scope = loop.scope
    while scope is not None and not scope.is_function:
        scope = scope.parent  # type: ignore[assignment]
    return scope.node if scope is not None else None


def _site(run: Interpreter, loop: Loop, layers: Layers, cell: ListCell, stored: Stored) -> Wrap | After | Refused:
    later = [
        use
        for use in cell.uses
        if use.does in (Does.GROW, Does.CHANGE) and use.clock > stored.clock and _local(use, stored)
    ]
    module = stored.module
    if not later:
        made = _branch(stored.value, cell.node)
        alike = made is cell.node and layers.unlike is None and layers.exact and len(layers.classes) == 1
        return Wrap(module.place(made), in_one_trace(run, stored, made, layers.classes[0]) if alike else None)
    target = module.code(stored.target)
    last = max(later, key=lambda use: use.place.span.start)
    if any(use.does is Does.CHANGE for use in later) or any(not _through(use, target) for use in later):
        return Refused("SCN214", "the list is changed under another name after it is assigned", last.place)
    statement = _beside(stored, last)
    if statement is None:
        return Refused(
            "SCN201",
            "the list is made in one block and filled in another: there is no one place to stack it",
            last.place,
        )
    line = module.span(statement).line
    indent = module.text[module.line_start(line) : module.span(statement).start]
    place = module.place(statement)
    if place.path == loop.place.path and stored.function is _function(loop) and loop.place.span.start < place.span.end:
        return Refused("SCN201", "the loop runs while the list is still being filled", place)
    return After(place, target, indent)


def _branch(value: ast.expr, node: ast.AST) -> ast.expr:
    """Of `a if test else b` the side that makes a list, or the whole where it stands in neither."""
    while isinstance(value, ast.IfExp):
        sides = [side for side in (value.body, value.orelse) if any(each is node for each in nodes_in(side))]
        if not sides:
            return value
        value = sides[0]
    return value


def _local(use: Use, stored: Stored) -> bool:
    return use.building or use.function is stored.function


def _through(use: Use, target: str) -> bool:
    """Whether a use grows the list by the name that it is assigned to."""
    node = use.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return dotted(node.func.value) == target
    if isinstance(node, ast.AugAssign):
        return dotted(node.target) == target
    return isinstance(node, ast.Subscript) and dotted(node.value) == target


def _beside(stored: Stored, use: Use) -> ast.stmt | None:
    """The statement of the assignment's own block that holds a use."""
    for block in _blocks(stored.function if stored.function is not None else stored.module.tree):
        if stored.statement in block:
            start = block.index(stored.statement)
            for statement in block[start + 1 :]:
                if any(each is use.node for each in nodes_in(statement)):
                    return statement
    return None


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
            for statement in block:
                yield from _blocks(statement)
    for handler in getattr(node, "handlers", ()):
        yield from _blocks(handler)
    for case in getattr(node, "cases", ()):
        yield from _blocks(case)


# -- the field -------------------------------------------------------------------------------------------------------


def _held(run: Interpreter, layers: Layers, choice: StackChoice) -> Refused | CallStack | None:
    """A field that does not keep what is assigned to it, or hides it from gradients."""
    for owner, attribute in fields_of(run, layers):
        field = run.classes.fields(owner).get(attribute)
        found = changes_what_is_assigned(run, attribute, field) if field is not None else None
        if found is None or field is None:
            continue
        if choice != "init" and copies_what_is_assigned(run, field):
            return CallStack(*found)
        return Refused("SCN214", *found)
    return None


def _annotations(run: Interpreter, loop: Loop, layers: Layers) -> Iterator[Annotation]:
    """The annotations of what holds the list."""
    for module, annotation in _declared(run, loop, layers):
        plain = unquoted(annotation)
        last = (dotted(plain.value if isinstance(plain, ast.Subscript) else plain) or "").rpartition(".")[2]
        if last not in tables.LIST_TYPES:
            continue
        inner = plain.slice if isinstance(plain, ast.Subscript) else None
        if isinstance(inner, ast.Tuple):
            inner = inner.elts[0]
        quoted = isinstance(annotation, ast.Constant)
        text = None if inner is None else ast.unparse(inner) if quoted else module.code(inner)
        yield Annotation(module.place(annotation), text, quoted)


def _declared(run: Interpreter, loop: Loop, layers: Layers) -> Iterator[tuple[Module, ast.expr]]:
    """The annotations of the fields that hold the list, and of the loop's own name for it."""
    for holder, attribute in _holding(run, layers, layers.cells, lambda each: _becomes_stack(layers, each)):
        for owner in run.classes.lineage(holder):
            for statement in owner.node.body if isinstance(owner.node, ast.ClassDef) else ():
                if isinstance(statement, ast.AnnAssign) and dotted(statement.target) == attribute:
                    yield owner.module, statement.annotation
    for cell in layers.cells:
        for stored in run.stores.get(cell.node, {}).values():
            local = stored.owner is None and isinstance(stored.statement, ast.AnnAssign)
            if local and stored in _stores(run, loop, layers, cell):
                assert isinstance(stored.statement, ast.AnnAssign)
                yield stored.module, stored.statement.annotation


def _becomes_stack(layers: Layers, stored: Stored) -> bool:
    """Whether a field holds the stack, where the list is stacked: a function's list may go into several fields, each
    of them with a list of its own."""
    from_field = (dotted(stored.value) or "").rpartition(".")[2]  # `self.stages = self.blocks`
    return layers.attribute is None or layers.attribute in {stored.attribute, from_field}
