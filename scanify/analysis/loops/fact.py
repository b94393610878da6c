"""One loop over modules, with everything that is known of it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scanify.analysis.facts import Place
from scanify.analysis.flow.round_trips import round_trips
from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.applied import applied_by_name, calls_itself
from scanify.analysis.loops.beginnings import carried_objects, start_obligations
from scanify.analysis.loops.bodies import bodies_of, walks_layers
from scanify.analysis.loops.body import body_of
from scanify.analysis.loops.gain import listed_by_caller, no_gain
from scanify.analysis.loops.judge_effects import Body
from scanify.analysis.loops.lists.layer_list import Layers, Reason, groups_of
from scanify.analysis.loops.lists.layers import all_values, layers_of, walked_values
from scanify.analysis.loops.lists.lengths import other_lengths
from scanify.analysis.loops.registered import registered_obligations
from scanify.analysis.lower.loop import Form, Loop, Order, Problem, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors
from scanify.analysis.plan import Bodies, Kind
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.code.annotations import parameter
from scanify.analysis.values.domain import (
    Array,
    Const,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Unknown,
    Value,
    Walked,
    options,
)
from scanify.analysis.values.heap import DictCell, ListCell
from scanify.analysis.values.objects.likeness import difference, is_layer
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.explore import Explorer
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.run.probe import again


@dataclass(frozen=True, eq=False)
class LoopFact:
    """What a loop over modules is: its layers, its shape, what its body does, and what speaks against a scan.

    `problems` are in the order in which they are said; `alike` says that nothing in the loop itself needs the layers
    one by one, `bodies` what speaks against one body for all of them, but for the number of a layer.
    """

    loop: Loop
    layers: Layers
    shape: LoopShape
    body: Body
    problems: tuple[Reason, ...]
    kind: Kind
    bodies: Bodies
    obligations: tuple[str, ...]
    cost: tuple[str, ...]

    @property
    def alike(self) -> bool:
        """Whether nothing in the loop itself needs the layers one by one."""
        return self.bodies.one and self.shape.index is None


def fact_of(run: Interpreter, explorer: Explorer, loop: Loop, layers: Layers | None = None) -> LoopFact | None:
    """What is known of a loop, whose layers may be known already; None where it is not over modules."""
    envs = explorer.envs(loop.node)
    if not envs:
        return None
    layers = layers or layers_of(run, loop, envs)
    if layers is None:
        return None
    shape = _with_layers_beside(run, shape_of(loop, layers.walk), envs)
    if not shape.applies_layer:
        return None
    body = body_of(run, loop, layers, envs, shape)
    if not _applies(run, loop, layers, body) or not (body.arrays or _is_given_something(loop)):
        return None
    starts = {name: _starts(envs, name) for name in shape.carry}
    body.obligations += other_lengths(run, loop, layers, shape, envs)
    if loop.carry is not None and loop.start is not None:
        clock = run.tick()
        with run.question(), run.recording() as effects:
            starts[loop.carry] = [again(run, env, loop.start) for env in envs]
        acts = (Act.WRITE, Act.COLLECT, Act.OUTSIDE)
        walked = {part.id for walk in loop.walks for part in nodes_in(walk.source) if isinstance(part, ast.Name)}
        written = [each for each in effects if each.act in acts and not run.is_fresh(each.born, clock)]
        written = [each for each in written if each.what.partition(".")[0] in walked]
        changes = "which is evaluated before the layers in a loop and behind them here"
        body.problems += [
            ("SCN207", f"the start changes something, `{each.what}`, {changes}", each.place) for each in written[:1]
        ]
    own = [*shape.problems, *carried_objects(run, loop, shape, starts)]
    problems: list[Reason] = [
        (each.rule, _said_of(loop, layers, each), _place(loop, each.node), each.remedy) for each in own
    ]
    problems += [*_walked_beside(run, loop, layers, shape, envs), *body.problems]
    if loop.element is None and layers.refusal is None and (shape.only_sums or not shape.carry):
        problems += _listed(run, layers)
    grouped = _grouped(run, loop, layers, shape, body, starts)
    return LoopFact(
        loop,
        layers,
        shape,
        body,
        tuple(problems),
        _kind(loop, layers, shape, grouped, problems),
        bodies_of(run, loop, layers, shape, starts, envs),
        (
            *layers.obligations,
            *registered_obligations(run, layers),
            *shape.obligations,
            *body.obligations,
            *start_obligations(loop, shape, body, starts),
        ),
        tuple(round_trips(shape)),
    )


def _with_layers_beside(run: Interpreter, shape: LoopShape, envs: Sequence[Env]) -> LoopShape:
    """The shape, which says of what is walked beside the layers what is modules, too, and what is one array."""
    first = len(shape.xs) - len(shape.beside)
    xs = [
        replace(xs, layers=walks_layers(run, walk, envs), array=_is_array(run, walk, envs))
        for xs, walk in zip(shape.xs[first:], shape.beside, strict=True)
    ]
    return replace(shape, xs=(*shape.xs[:first], *xs)) if xs else shape


def _is_array(run: Interpreter, walk: Walk, envs: Sequence[Env]) -> bool:
    """Whether a container that is walked as it is is shown to be an array."""
    if walk.order is not Order.WHOLE or walk.beside != ast.unparse(walk.base):
        return False
    values = all_values(run, walk, envs)
    return bool(values) and all(isinstance(each, Array) or (isinstance(each, Key) and each.split) for each in values)


def _applies(run: Interpreter, loop: Loop, layers: Layers, body: Body) -> bool:
    """Whether what is called in each iteration, where that is not the layer itself, applies it somewhere."""
    if loop.form in (Form.FOR, Form.WHILE, Form.SEQUENTIAL) or not layers.known or layers.several:
        return True
    names = {each.name for each in layers.classes}
    definitions = [each.cls for each in layers.classes if isinstance(each.cls, Definition)]
    names |= {heir.name for each in definitions for heir in run.classes.heirs(each)}
    unclear = body.unclear and loop.function is None  # a lambda that hands the layer to what is not shown
    return bool(names & body.applied) or unclear or applied_by_name(loop, layers.walk)


def _is_given_something(loop: Loop) -> bool:
    """Whether the element of a comprehension is more than what a method gives unasked, a name or a number of it."""
    match loop.element:
        case ast.Call(func=ast.Attribute(value=ast.Name()), args=[], keywords=[]):
            return False
        case _:
            return True


def _said_of(loop: Loop, layers: Layers, problem: Problem) -> str:
    """The reason of a problem; layers of a dict are taken by name, which the lowering does not know."""
    if problem is not loop.problem or not layers.of_dict or problem.rule != "SCN208":
        return problem.reason
    what = f"`{loop.module.code(problem.node)}` may be missing in some iterations"
    return f"the layers are taken from a dict by name, and {what}"


_ITERATORS = ("reversed", "iter", "zip", "map", "filter", "enumerate", "product")


def _walked_beside(
    run: Interpreter, loop: Loop, layers: Layers, shape: LoopShape, envs: Sequence[Env]
) -> Iterator[Reason]:
    """What is walked and cannot be: a dict beside the layers, layers of an iterator that is counted or walked again."""
    place = _place(loop, layers.walk.source)
    for walk in shape.beside:
        plain = walk.element is None and walk.order is Order.WHOLE and not walk.beside.startswith("list(")
        for value in walked_values(run, walk, envs) if plain else ():
            if isinstance(value, Mapped):
                text = f"the dict `{loop.code(walk.source)}` is walked beside the layers: that gives its keys"
                yield "SCN213", text, _place(loop, walk.source)
            elif _is_iterator(value):
                text = f"`{loop.code(walk.source)}` may be an iterator, which is walked once; a scan needs a list there"
                yield "SCN213", text, _place(loop, walk.source)
        if calls_itself(loop, walk):
            yield from (reason for value in walked_values(run, walk, envs) for reason in _unequal(run, value))
        given = isinstance(walk.base, ast.Name) and walk.base.id in loop.scope.params  # then its name alone says keys
        kinds = (Listed, Mapped, Array) if given else (Listed, Mapped, Array, Key)
        if walk.via == "iter" and not all(isinstance(value, kinds) for value in walked_values(run, walk, envs)):
            text = f"`{loop.code(walk.base)}` may be an iterator: a scan takes all of it, the loop what it needs"
            yield "SCN213", text, _place(loop, walk.source)
    base = layers.walk.base
    if not isinstance(base, ast.Name) or layers.walk.source is not base:
        return
    values = walked_values(run, layers.walk, envs)
    if any(isinstance(value, Walked) and value.kind in _ITERATORS for value in values):
        counts = loop.index is not None and (shape.index is not None or loop.index.first is not None)
        if counts or any(walk.element is not None for walk in shape.beside):
            yield "SCN213", f"`{base.id}` may be an iterator, which has no length", place
        elif shape.beside and _read_again(loop, base):
            yield "SCN213", f"`{base.id}` may be an iterator, of which nothing may be left", place


def _is_iterator(value: Value) -> bool:
    """Whether a value is walked once, and has no elements by number: what a generator, `zip` or `map` gives."""
    if isinstance(value, Walked):
        return value.kind != "range"
    made = value.cell.node if isinstance(value, Listed) else None
    return isinstance(made, ast.GeneratorExp) or (isinstance(made, ast.Call) and dotted(made.func) == "map")


def _listed(run: Interpreter, layers: Layers) -> Iterator[Reason]:
    """Why layers that are independent of one another share no body: the caller lists a size for each."""
    for cell in layers.cells:
        differences = [(group, each) for group in groups_of(cell) if (each := difference(run, group)) is not None]
        reason = listed_by_caller(differences)
        if reason is not None:
            yield reason


def _unequal(run: Interpreter, value: Value) -> Iterator[Reason]:
    """Why layers that are walked beside the others share no body with one another."""
    cell = getattr(value, "cell", None)
    groups = groups_of(cell) if isinstance(cell, ListCell | DictCell) else []
    if groups and all(_holds_layers(run, option) for group in groups for option in options(group.element)):
        found = [(group, each) for group in groups if (each := difference(run, group)) is not None]
        reason = no_gain(run.index, groups, found)
        if reason is not None:
            yield reason


def _holds_layers(run: Interpreter, value: Value) -> bool:
    """Whether a value is a layer, or a list of layers: a stage."""
    if not isinstance(value, Listed):
        return is_layer(run, value)
    inner = [option for group in value.cell.made for option in options(group.element)]
    layers = [option for option in inner if is_layer(run, option)]
    return bool(layers) and all(isinstance(each, Instance | Unknown | Const) for each in inner)


def _read_again(loop: Loop, base: ast.Name) -> bool:
    """Whether a loop may find an iterator walked already: there is another use of it, or a loop around."""
    function = loop.scope.function.node
    mentions = [each for each in nodes_in(function) if isinstance(each, ast.Name) and each.id == base.id]
    around = any(isinstance(each, ast.For | ast.While) for each in ancestors(loop.module, loop.node))
    return around or len(mentions) > 2


def _place(loop: Loop, node: ast.AST) -> Place | None:
    return loop.module.place(node) if hasattr(node, "lineno") else None


def _starts(envs: Sequence[Env], name: str) -> list[Value]:
    values = [env.lookup(name) for env in envs]
    return [value for value in values if value is not None]


def _kind(loop: Loop, layers: Layers, shape: LoopShape, grouped: str | None, problems: Sequence[Reason]) -> Kind:
    rules = {each[0] for each in problems}
    if loop.element is not None or shape.only_sums or not shape.carry:
        return Kind.MAP  # independent layers, whatever is done with what they give
    if grouped is not None or (layers.refusal is not None and layers.refusal[0] in ("SCN202", "SCN203")):
        return Kind.GROUP
    return Kind.SCAN if shape.collections or "SCN206" in rules else Kind.FOLD


# -- equal in parts --------------------------------------------------------------------------------------------------


def _grouped(
    run: Interpreter, loop: Loop, layers: Layers, shape: LoopShape, body: Body, starts: dict[str, list[Value]]
) -> str | None:
    """Why the layers are equal only in parts; None where nothing shows that."""
    threaded = any(_is_state(value) for values in starts.values() for each in values for value in options(each))
    if threaded or (len(shape.carry) > 1 and any(_takes_state(run, each) for each in layers.classes)):
        return "an `equinox.nn.State` goes through the layers"
    branch = _branching(loop, shape)
    if branch is not None:
        return branch
    if body.branches:
        return f"the layers branch on `{body.branches}`, which differs between them"
    if layers.grouped is not None and "its own index" in layers.grouped and len(shape.carry) == 1:
        return None
    return layers.grouped


def _takes_state(run: Interpreter, layer: Instance) -> bool:
    """Whether the call of a layer has a parameter that is annotated as an `equinox.nn.State`."""
    found = run.classes.method(layer.cls, "__call__") if isinstance(layer.cls, Definition) else None
    if found is None:
        return False
    home, arguments = run.module_env(found[0].module), found[1].args
    given = (each for each in (*arguments.args, *arguments.kwonlyargs) if each.annotation is not None)
    values = (parameter(run, home, each.arg, each.annotation) for each in given)
    return any(_is_state(option) for value in values for option in options(value))


def _is_state(value: Value) -> bool:
    if isinstance(value, Listed) and value.cell.is_tuple:
        return any(_is_state(option) for group in value.cell.groups for option in options(group.element))
    return isinstance(value, Instance) and isinstance(value.cls, Library) and value.cls.qualname == "equinox.nn.State"


def _branching(loop: Loop, shape: LoopShape) -> str | None:
    """Where a body asks for the class of its layer, or for its index in what it hands on."""
    index = {each.id for each in nodes_in(loop.index.target) if isinstance(each, ast.Name)} if loop.index else set()
    layers = set(shape.layer_names)
    for statement in loop.body:
        for node in nodes_in(statement):
            asked = node.args[:1] if isinstance(node, ast.Call) and dotted(node.func) == "isinstance" else []
            if asked and isinstance(asked[0], ast.Name) and asked[0].id in layers:
                return f"the body asks for the class of `{asked[0].id}`"
            branches = isinstance(node, ast.If | ast.IfExp) and _compares(node.test, index)
            if branches and (isinstance(node, ast.IfExp) or (isinstance(node, ast.If) and _hands_on(node, shape))):
                return "the body branches on the layer's index"
    return None


def _compares(test: ast.AST, index: set[str]) -> bool:
    """Whether a condition orders, counts or divides one of some names: `i < n - 1`, `i % 2`, `not i`."""
    if isinstance(test, ast.Name):
        return test.id in index
    if isinstance(test, ast.Compare):
        by_object = any(isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in test.ops)
        return not by_object and _reads(test, index)
    if isinstance(test, ast.BinOp):
        return isinstance(test.op, ast.Mod) and _reads(test, index)
    if isinstance(test, ast.Call | ast.Subscript):
        return False
    return any(_compares(child, index) for child in ast.iter_child_nodes(test))


def _reads(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in nodes_in(node))


def _hands_on(node: ast.If, shape: LoopShape) -> bool:
    for each in nodes_in(node):
        if isinstance(each, ast.Return | ast.Break | ast.Continue):
            return True
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id in shape.carry:
            return True
    return False
