"""What one iteration of a loop does besides computing: its effects, as problems, obligations and notes."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.beginnings import is_scalar
from scanify.analysis.loops.carried_sizes import note_sizes, sized
from scanify.analysis.loops.judge_effects import Body, is_call, judge, matters, order_of
from scanify.analysis.loops.lists.layer_list import Layers, groups_of
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.calls.arrays import WEAK, is_complex
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.code.flow import Flow
from scanify.analysis.values.code.statements import execute
from scanify.analysis.values.code.targets import bind_target
from scanify.analysis.values.domain import (
    Array,
    Const,
    Function,
    Instance,
    Listed,
    Mapped,
    Number,
    Partial,
    Unknown,
    Value,
    Walked,
    join,
    marked,
    options,
    unknown_once,
)
from scanify.analysis.values.iterations.iteration import iterate
from scanify.analysis.values.marks import Mark, Vary
from scanify.analysis.values.objects.form import form_of
from scanify.analysis.values.objects.identity import kind_of
from scanify.analysis.values.objects.key_order import dicts_in
from scanify.analysis.values.objects.likeness import is_static
from scanify.analysis.values.objects.protocols import note_operation, note_passed
from scanify.analysis.values.run.effects import Act, Effect
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import CARRIED, Interpreter, holder_of
from scanify.analysis.values.run.probe import again

_MOST_LAYERS = 32  # kinds of layers that are run one by one


def body_of(run: Interpreter, loop: Loop, layers: Layers, envs: Sequence[Env], shape: LoopShape) -> Body:
    """Run one iteration, twice, so that the second sees what the first leaves behind; judge what it did."""
    body, carry, ys = Body(), shape.carry, frozenset(each.name for each in shape.collections)
    for env in envs:
        traced = _tracers(run, element_of(run, layers))
        with run.question(), run.recording() as effects, run.for_effects(), traced, env.revived() as inner:
            clock = run.tick()
            number, carried = run.new_loop(), run.new_loop()
            held: set[object] = {CARRIED}
            with run.region(number):
                start: dict[str, Value] = {}
                bound: dict[str, Value] = {}
                for _ in range(2):
                    _begin(run, loop, layers, inner, number)
                    for name in carry:
                        value = _carried(inner.lookup(name), env.lookup(name))
                        held |= {holder_of(option) for option in options(value)} - {None}
                        bound[name] = marked(value, (Mark(carried, Vary.CARRY, name),))
                        inner.bind(name, bound[name])
                    if start and _same_kinds(start, inner.names):
                        break
                    start = dict(inner.names)
                    if loop.element is not None:
                        _note_element(body, loop.element, evaluate(run, inner, loop.element))
                    else:
                        execute(run, inner, loop.body, Flow())
                        _note_ends(run, body, {name: inner.lookup(name) for name in carry}, bound)
                        body.function = body.function or _function_kept(loop, inner, ys)
            if run.exhausted:
                body.oblige(f"what the body calls after {run.steps:,} nodes is not followed, and has no side effects")
        targets = {each.id for each in nodes_in(layers.walk.target) if isinstance(each, ast.Name)}
        effects = [effect for effect in effects if effect.argument is None or effect.argument not in run.passed]
        body.unclear = body.unclear or any(effect.act is Act.UNKNOWN and is_call(effect) for effect in effects)
        body.applied |= {effect.what for effect in effects if effect.act is Act.APPLY}
        body.branches = body.branches or next(_branches(layers, effects), "")
        if body.function is not None:  # it reads the names of the loop when it is called
            text = f"`{loop.code(body.function)}` gives a function for each layer; a scan gives arrays"
            body.problems.append(("SCN206", text, loop.module.place(body.function)))
        for effect in _that_matter(run, layers, effects, (number, carried)):
            unknown_layer = effect.act is Act.UNKNOWN and effect.what.partition(".")[0] in targets and not effect.inside
            into_carry = effect.act is Act.WRITE and effect.inside and effect.holder in held
            if into_carry and not run.is_fresh(effect.born, clock):
                body.oblige(
                    f"nobody reads `{effect.what}` of what goes into the first layer, of which a scan changes a copy"
                )
            elif not unknown_layer or layers.known:
                judge(run, loop, body, effect, clock, ys)
        names = [name for name in carry if name not in shape.last]
        if layers.refusal is None and names and loop.element is None:
            scalars = {name for name in names if shape.starts.get(name) and all(map(is_scalar, shape.starts[name]))}
            note_sizes(body, loop, env, *_sized_iteration(run, loop, layers, env, names, scalars))
    if loop.node in run.probes and run.probes[loop.node].lost:
        body.oblige(f"the loop does nothing else on more than {len(envs)} ways to it")
    body.oblige_unknown(run, loop)
    # Which call is run first, and is remembered for others, depends on what else is asked for; the answer must not.
    body.problems.sort(key=lambda problem: order_of(loop, problem[0], problem[2]))
    return body


def _that_matter(run: Interpreter, layers: Layers, effects: Sequence[Effect], loops: Sequence[int]) -> Iterator[Effect]:
    """The effects without texts that are only said, and without dicts that are walked and that no layer holds."""
    dicts = dicts_in(element_of(run, layers)) if any(effect.act is Act.ORDER for effect in effects) else frozenset()
    told = {each for effect in effects if effect.act in (Act.TELLS, Act.DEBUG) for each in nodes_in(effect.node)}
    for effect in effects:
        silent = effect.act is Act.TEXT and not matters(effect, told, loops)
        if not silent and (effect.act is not Act.ORDER or effect.root in dicts):
            yield effect


def _note_ends(run: Interpreter, body: Body, ends: Mapping[str, Value | None], begun: Mapping[str, Value]) -> None:
    """Note how carries are after an iteration, where a scan would have them otherwise before it."""
    for name, value in ends.items():
        forms = {form for option in options(value or Array()) if (form := form_of(option)) is not None}
        body.forms[name] = body.forms.get(name, set()) | forms
        body.settings |= {(name, each) for each in _settings_changed(run, value or Array(), begun[name])}
        if value is not None and all(isinstance(option, Array) for option in options(value)):
            note_passed(run, [begun[name]])  # what a layer makes an array is one before it, or no scan carries it
        if value is not None and any(map(is_complex, options(value))):
            body.complex.add(name)
        if isinstance(value, Array) and value.cast == WEAK:
            body.weak.add(name)
        body.swapped |= {(name, other) for other, before in begun.items() if other != name and value is before}


def _sized_iteration(
    run: Interpreter, loop: Loop, layers: Layers, env: Env, carry: Sequence[str], scalars: Collection[str]
) -> tuple[Mapping[str, Value], Mapping[str, Value | None]]:
    """What carries are before and after an iteration that begins with arrays of sizes of their own."""
    with run.question(), run.recording(), run.for_effects(), env.revived() as inner:
        number = run.new_loop()
        before: dict[str, Value] = {}
        with run.region(number):
            _begin(run, loop, layers, inner, number)
            for name in carry:
                start = again(run, env, loop.start) if name == loop.carry and loop.start is not None else None
                before[name] = sized(start or inner.lookup(name) or Array(), name, number, scalar=name in scalars)
                inner.bind(name, before[name])
            execute(run, inner, loop.body, Flow())
        return before, {name: inner.lookup(name) for name in carry}


def _settings_changed(run: Interpreter, after: Value, before: Value) -> Iterator[str]:
    """The static fields of modules that have another value after an iteration than before it."""
    known = [option for option in options(before) if isinstance(option, Instance)]
    for option in options(after):
        if not isinstance(option, Instance) or not isinstance(option.cls, Definition):
            continue
        for name in (name for name, declared in run.classes.fields(option.cls).items() if is_static(declared)):
            value = option.fields.get(name)
            same = [one.fields.get(name) for one in known if one.cls == option.cls]
            if same and not any(value is one or (isinstance(value, Const) and value == one) for one in same):
                yield name


def _function_kept(loop: Loop, env: Env, ys: frozenset[str]) -> ast.expr | None:
    """What the body puts into a list that it collects and is a function of its own, or holds one."""
    inside = set(nodes_in(*loop.body))
    for name in sorted(ys):
        for option in options(env.lookup(name) or Array()):
            for group in groups_of(option.cell) if isinstance(option, Listed) else ():
                if group.node in inside and isinstance(group.node, ast.expr) and _holds_function(group.element):
                    return group.node
    return None


def _holds_function(value: Value, seen: frozenset[int] = frozenset(), *, of_object: bool = False) -> bool:
    """Whether a value is a function, or a tuple, a list or a dict with one in it, or an object with one that a call has
    made: a function of a file, which all objects have in common, is no matter there."""
    for option in options(value):
        place = id(getattr(option, "fields", getattr(option, "cell", option)))
        if place in seen:
            continue
        if isinstance(option, Function | Partial) and (not of_object or option.fresh):
            return True
        fields = option.fields.values() if isinstance(option, Instance) else ()
        if any(_holds_function(each, seen | {place}, of_object=True) for each in fields):
            return True
        held = groups_of(option.cell) if isinstance(option, Listed | Mapped) else []
        if any(_holds_function(each.element, seen | {place}, of_object=of_object) for each in held):
            return True
    return False


def _same_kinds(before: Mapping[str, Value], after: Mapping[str, Value]) -> bool:
    """Whether another iteration begins with what the one before began with, for all that decides what it may do."""
    changed = (name for name, value in before.items() if after.get(name) is not value)
    return all(kind_of(before[name]) == kind_of(after.get(name)) for name in changed)


def _branches(layers: Layers, effects: Sequence[Effect]) -> Iterator[str]:
    """Conditions on what differs between the layers as they are built."""
    loops = {loop for cell in layers.cells for group in groups_of(cell) for loop in group.loops}
    for effect in effects:
        if effect.act is Act.BRANCH and any(mark.loop in loops for mark in effect.marks):
            yield effect.what


def _carried(value: Value | None, first: Value | None) -> Value:
    """What a carry is in a scan: an array after a layer is one before it, and an object of a class stays one."""
    if value is None:
        return Array()
    if any(isinstance(option, Unknown) and option.part for option in options(value)):  # of a tuple: `x, _ = layer(x)`
        whole = (replace(each, part=False) if isinstance(each, Unknown) else each for each in options(value))
        value = join(whole)
    objects = list(options(first)) if first is not None else []
    if objects and all(isinstance(option, Instance) for option in objects):
        return join([*objects, *(option for option in options(value) if isinstance(option, Instance))])
    known = [option for option in options(value) if not isinstance(option, Unknown)]
    return join(known) if any(isinstance(option, Array) for option in known) else value


def _begin(run: Interpreter, loop: Loop, layers: Layers, env: Env, number: int) -> None:
    for walk in loop.walks:
        value = element_of(run, layers) if walk is layers.walk else _beside(run, walk, env, number)
        bind_target(run, env, walk.target, value)
    if loop.index is not None:
        via = ast.unparse(loop.index.target)
        bind_target(run, env, loop.index.target, Number((Mark(number, Vary.NUMBER, via),)))


def _note_element(body: Body, node: ast.expr, value: Value) -> None:
    body.arrays &= all(isinstance(each, Array) for each in options(value))
    if _holds_function(value):
        body.function = body.function or node


def element_of(run: Interpreter, layers: Layers) -> Value:
    """What the layer may be in an iteration."""
    values = [group.element for cell in layers.cells for group in groups_of(cell)]
    if not values:
        return Unknown(layers.hidden or "an element of a list from elsewhere")
    return join(unknown_once(values), _MOST_LAYERS)


@contextmanager
def _tracers(run: Interpreter, layer: Value) -> Iterator[None]:
    """Arrays of numpy that layers hold are what a scan makes of them, which has no value that Python could ask for."""
    found: dict[int, Instance] = {}
    waiting = list(options(layer))
    while waiting:
        each = waiting.pop()
        if isinstance(each, Listed | Mapped):
            waiting += [option for group in groups_of(each.cell) for option in options(group.element)]
        elif isinstance(each, Instance) and id(each.fields) not in found:
            found[id(each.fields)] = each
            waiting += [option for field in each.fields.values() for option in options(field)]
    numpy = any(isinstance(field, Array) and field.numpy for each in found.values() for field in each.fields.values())
    if not numpy:
        yield
        return
    run.scanned = set(found)
    try:
        yield
    finally:
        run.scanned = set()


def _beside(run: Interpreter, walk: Walk, env: Env, number: int) -> Value:
    source = walk.base if walk.order is Order.NUMBERED else walk.source
    with run.recording() as recorded:
        value = evaluate(run, env, source)
        element = iterate(run, env, value, number, source, ast.unparse(walk.target))[0]
    # What is walked beside the layers is walked once, by a scan too; what it is has to be known.
    run.effects.extend(effect for effect in recorded if effect.act is not Act.UNKNOWN)
    note_operation(run, env, source, value.parts if isinstance(value, Walked) else [value], ("__getitem__",))
    return element
