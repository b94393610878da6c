"""Values that the caller passes as one per layer and gets back as one per layer, such as the caches of a decoder.

A scan copies them into a stack and out of it in each call, which can take many times as long as layers that decode one
token. They are recognised by their way through the loop and by no name: the loop gathers a value for each layer from
what a caller passed, and what comes of it is put back one by one.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence, Set

from scanify.analysis.flow.around import path_to
from scanify.analysis.flow.names import flow, target_names
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.flow.statements import assignments, bound_by, statements_in, value_given
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import mentions, names_in, nodes_in
from scanify.analysis.lower.scope import ancestors, parameters, parent_of

_ARRAYS = ("jax.numpy.", "jax.random.", "jax.lax.", "jax.nn.", "numpy.", "einops.")
_LISTS = ("numpy.split", "array_split", "hsplit", "vsplit", "dsplit", "unstack", "meshgrid", "broadcast_arrays")
_NUMBERS = ("len", "range", "int", "float", "bool", "str", "sum", "max", "min", "any", "all", "isinstance")


def round_trips(shape: LoopShape) -> Iterator[str]:
    """The obligation of a loop whose values come and go as one per layer; nothing for other loops."""
    loop = shape.loop
    first = len(shape.xs) - len(shape.beside)
    walks = [
        walk
        for xs, walk in zip(shape.xs[first:], shape.beside, strict=True)
        if _is_passed(shape, walk.source) and not (xs.array and _is_declared(loop, walk.source))
    ]
    parts = nodes_in(*loop.body, *([loop.element] if loop.element is not None else []))
    begins = _begins_scans(loop, parts)
    walks = [each for each in walks if not _is_only_in(target_names(each.target), parts, begins)]
    gathers = [node for node in parts if node not in begins and _gathers(shape, node)]
    sources = [*(walk.source for walk in walks), *gathers]
    if not sources:
        return
    given = {name for walk in walks for name in target_names(walk.target)}
    made = _made_of(shape, given, gathers)
    for name, values in _collected(shape):
        if not shape.carry and not _replaces(loop, sources):  # `[head(x, s) for head, s in zip(self.heads, scales)]`
            continue
        if any(_mentions(value, made, gathers) for value in values) and _goes_back(loop, name):
            what = f"`{name}`" if name is not None else "what each layer gives"
            line = loop.module.place(sources[0]).span.line
            yield (
                f"each call copies `{loop.module.code(sources[0])}` (line {line}) into a stack and {what} out of it: "
                "layers that decode one token took 9 to 22 times as long; stack the values once, outside of the step, "
                "and pass and return the stack (`scan_via` with `in_axes`), or leave the loop"
            )
            return


def _begins_scans(loop: Loop, nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """The expressions that scans in the loop's body begin with, such as the state of a recurrent layer.

    To copy such a value costs about what one of the steps costs that the scan runs with it.
    """
    calls = [each for each in nodes if isinstance(each, ast.Call) and loop.scope.qualified(each.func) == "jax.lax.scan"]
    given = [arg for call in calls for arg in (*call.args[1:2], *(k.value for k in call.keywords if k.arg == "init"))]
    return set(nodes_in(*given))


def _is_only_in(names: Iterable[str], nodes: Sequence[ast.AST], within: Set[ast.AST]) -> bool:
    """True if every place of some names is one of these."""
    places = [each for each in nodes if isinstance(each, ast.Name) and each.id in {*names}]
    return bool(places) and all(each in within for each in places)


def _collected(shape: LoopShape) -> Iterator[tuple[str | None, Sequence[ast.expr]]]:
    """The names that collect one value per layer, with what is collected; None for an expression without a name."""
    if shape.loop.element is not None:
        yield shape.loop.appends_to, (shape.loop.element,)
    yield from shape.collected.values.items()


def _replaces(loop: Loop, sources: Sequence[ast.AST]) -> bool:
    """True if what an expression gives takes the place of what was walked: `caches = [... for c in caches]`."""
    given = parent_of(loop.module, loop.node)
    targets = given.targets if isinstance(given, ast.Assign) else [getattr(given, "target", loop.node)]
    return not {ast.unparse(each) for each in targets}.isdisjoint(
        ast.unparse(each) for source in sources for each in nodes_in(source) if isinstance(each, ast.expr)
    )


def _is_passed(shape: LoopShape, node: ast.AST | None, seen: frozenset[str] = frozenset()) -> bool:
    """True if an expression may hold values that came one by one, from a caller or from the step before."""
    match node:
        case ast.Name(id=name):
            return _is_passed_name(shape, name, seen)
        case ast.Call():
            if _gives_one(shape.loop, node):
                return False
        case ast.Compare() | ast.Lambda() | None:
            return False
    if isinstance(node, ast.Subscript):
        return _is_passed(shape, node.value, seen)
    return any(_is_passed(shape, each, seen) for each in ast.iter_child_nodes(node))


def _is_passed_name(shape: LoopShape, name: str, seen: frozenset[str]) -> bool:
    loop = shape.loop
    if name in shape.ys and any(isinstance(each, ast.For | ast.While) for each in ancestors(loop.module, loop.node)):
        return True  # what one step of a loop around gives is what the next one takes
    holder = loop.scope.binding(name)
    if holder is None or holder.parent is None:
        return False
    if name == loop.scope.self_name:
        return _is_put_into(loop, name, shape.ys)
    if name in holder.params and (name in seen or name not in flow(path_to(loop)).definite):
        return True
    if name in seen:
        return False
    for statement in assignments(getattr(holder.node, "body", ()), name):
        if any(_is_passed(shape, value, seen | {name}) for value in _given(statement, name)):
            return True
    return False


def _gathers(shape: LoopShape, node: ast.AST) -> bool:
    """True for what takes a layer's value from a collection of the caller: `caches[layer.name]`, `caches.get(i)`."""
    loop, layers = shape.loop, set(shape.layer_names)
    match node:
        case ast.Subscript(value=base, slice=key, ctx=ast.Load()):
            takes, keys = [base], [key]
        case ast.Call(func=func, args=args):
            takes = [*([func.value] if isinstance(func, ast.Attribute) else []), *args]
            keys = [arg for arg in args if not (isinstance(arg, ast.Name) and arg.id in layers)]
            if len(keys) < len(args):  # the layer itself is passed: this applies it
                return False
        case _:
            return False
    named = names_in([*takes, *keys])
    if not named.isdisjoint(shape.carry) or not any(names_in([key]) & set(loop.targets) for key in keys):
        return False
    return any(names_in([each]).isdisjoint(loop.targets) and _is_passed(shape, each) for each in takes)


def _made_of(shape: LoopShape, given: Set[str], gathers: Sequence[ast.AST]) -> set[str]:
    """The names that hold what is made of a layer's own value, without carries."""
    made = set(given)
    statements = [*statements_in(shape.loop.body)] * 2  # a name may be read above where it is bound
    for statement in statements:
        if _mentions(statement, made, gathers):
            made |= bound_by(statement) - set(shape.carry)
    return made


def _mentions(node: ast.AST, names: Set[str], gathers: Sequence[ast.AST]) -> bool:
    return any(each in gathers or (isinstance(each, ast.Name) and each.id in names) for each in nodes_in(node))


def _goes_back(loop: Loop, name: str | None) -> bool:
    """True unless all that is done with what is collected is to make one array or number of it."""
    if name is None:
        return not _is_reduced(loop, loop.node)
    scope = loop.scope.function
    if name in scope.params:
        return True
    within = set(mentions(name, loop.node))
    uses = mentions(name, *getattr(scope.node, "body", ()))
    return any(isinstance(use.ctx, ast.Load) and use not in within and not _is_reduced(loop, use) for use in uses)


def _is_reduced(loop: Loop, node: ast.AST) -> bool:
    """True if an expression is passed to a function that makes one array or number of a list."""
    call = parent_of(loop.module, node)
    return isinstance(call, ast.Call) and node in call.args and _gives_one(loop, call)


def _gives_one(loop: Loop, call: ast.Call) -> bool:
    """True if a call gives one array or number."""
    name = loop.scope.qualified(call.func) or ""
    return (name.startswith(_ARRAYS) and not name.endswith(_LISTS)) or loop.scope.builtin(call) in _NUMBERS


def _is_declared(loop: Loop, node: ast.AST | None, seen: Set[str] = frozenset()) -> bool:
    """True if an expression is read from a parameter that is annotated: what its type says of it holds.

    A parameter without annotation may get a list where a library calls the function, such as the carry of a scan.
    """
    match node:
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            return _is_declared(loop, value, seen)
        case ast.Name(id=name) if name not in seen:
            holder = loop.scope.function.node
            bound = assignments(getattr(holder, "body", ()), name)
            if not bound:
                return any(each.arg == name and each.annotation is not None for each in parameters(holder))
            given = [value for statement in bound for value in _given(statement, name)]
            return all(_is_declared(loop, each, {*seen, name}) for each in given)
        case _:
            return False


def _given(statement: ast.AST, name: str) -> Sequence[ast.expr | None]:
    """The values that an assignment may give to a name; what it takes apart as a whole."""
    return value_given(statement, name) or [getattr(statement, "value", None)]


def _is_put_into(loop: Loop, name: str, ys: Sequence[str]) -> bool:
    """True if what is collected is put into an object that is passed on: `eqx.tree_at(where, self, new)`."""
    calls = (each for each in nodes_in(*getattr(loop.scope.function.node, "body", ())) if isinstance(each, ast.Call))
    return any(any(getattr(arg, "id", "") == name for arg in call.args) and names_in([call]) & {*ys} for call in calls)
