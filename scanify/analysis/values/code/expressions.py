"""Expressions: each evaluates to an abstract value, and notes the uses and effects that it has."""

import ast
from collections.abc import Callable, Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.calls.allocate import keep, new_dict, new_list, spread_dict, store_entry
from scanify.analysis.values.calls.arrays import MASK, concrete, of_arrays, written
from scanify.analysis.values.calls.attributes import attribute
from scanify.analysis.values.calls.module_attributes import of_module
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.code.narrowed import narrowed, outcome
from scanify.analysis.values.code.operators import combine
from scanify.analysis.values.code.targets import bind_target
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import (
    Array,
    Class,
    Const,
    Function,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Number,
    OneOf,
    Text,
    Unknown,
    Value,
    is_none,
    join,
    marked,
    options,
    sized,
)
from scanify.analysis.values.heap import Does, Group
from scanify.analysis.values.iterations.iteration import elements_of
from scanify.analysis.values.marks import Marks, Vary, merged, raised
from scanify.analysis.values.objects import protocols
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.objects.likeness import is_layer
from scanify.analysis.values.objects.part import part_of
from scanify.analysis.values.objects.sharing import made_since
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Evaluate = Callable[[Interpreter, Env, ast.expr], Value]


def evaluate(run: Interpreter, env: Env, node: ast.expr) -> Value:
    """The abstract value of an expression."""
    run.steps += 1
    probe = run.probes.get(node)
    if probe is not None:
        probe.note(env)
    if run.exhausted:
        return Unknown("the code is too long to be followed")
    handler = _HANDLERS.get(type(node))
    if handler is None:
        run.effect(Act.UNKNOWN, env.code(node), node, env)
        return Unknown("this kind of expression is not followed")
    done = len(run.effects)
    value = handler(run, env, node)
    return value if len(run.effects) == done else run.churned.given(value, run.effects[done:])


def evaluate_all(run: Interpreter, env: Env, nodes: Sequence[ast.expr]) -> list[Value]:
    """The values of several expressions, in order."""
    return [evaluate(run, env, node) for node in nodes]


# -- names and constants ---------------------------------------------------------------------------------------------


def _constant(run: Interpreter, env: Env, node: ast.Constant) -> Value:
    return Const(node.value) if isinstance(node.value, str | int | float | bool | bytes | complex | None) else Text()


def _name(run: Interpreter, env: Env, node: ast.Name) -> Value:
    value = env.lookup(node.id) if node.id not in env.global_names else None
    if value is None:
        value = run.churned.read((env.module.path, node.id), run.global_value(env.module, node.id))
        run.changes.reach(value)
    elif node.id not in env.names:
        run.changes.reach(value)
        if node.id in env.module.handed_out:
            value = run.churned.read((env.around(node.id), node.id), value)
    return value


def _attribute(run: Interpreter, env: Env, node: ast.Attribute) -> Value:
    name = dotted(node)
    if name is not None and env.lookup(name.partition(".")[0]) is None:
        value = run.global_value(env.module, name)
        if not isinstance(value, Unknown):
            return value
        if (said := of_module(run, env, node, name)) is not None:
            return said
    return attribute(run, env, node, evaluate(run, env, node.value), node.attr)


# -- displays and comprehensions -------------------------------------------------------------------------------------


def _display(run: Interpreter, env: Env, node: ast.List | ast.Tuple | ast.Set) -> Value:
    groups: list[Group] = []
    whole, why = True, ""
    lengths: list[Marks] = []
    for element in node.elts:
        if not isinstance(element, ast.Starred):
            value = evaluate(run, env, element)
            if isinstance(node, ast.Set):
                protocols.asked(run, env, element, [value], protocols.KEY)
            keep(run, env, value, element, node)
            groups.append(Group(value, element, env.module, own=made_since(run, value, run.turn), part=part_of(value)))
            continue
        starred = evaluate(run, env, element.value)
        lengths.append(sized(starred.marks))
        spread = elements_of(run, env, starred, element)
        whole, why = whole and spread.whole, why or spread.why
        groups += spread.groups
    cell = new_list(run, env, node, is_tuple=isinstance(node, ast.Tuple))
    cell.groups, cell.whole, cell.why = groups, whole, why
    return Listed(cell, merged([*lengths, *(group.element.marks for group in groups)]))


def _dict(run: Interpreter, env: Env, node: ast.Dict) -> Value:
    cell = new_dict(run, env, node)
    for key, part in zip(node.keys, node.values, strict=True):
        value = evaluate(run, env, part)
        if key is None:
            protocols.unpacked(run, env, part, value)
            spread_dict(cell, value, part, env)
            continue
        keep(run, env, value, part, node)
        name = evaluate(run, env, key)
        protocols.asked(run, env, key, [name], protocols.KEY)
        store_entry(cell, name, marked(value, name.marks), part, env, own=made_since(run, value, run.turn))
    return Mapped(cell)


def _comprehended(run: Interpreter, env: Env, node: ast.expr) -> Value:
    from scanify.analysis.values.iterations.comprehensions import Comprehension, comprehension

    assert isinstance(node, Comprehension)
    return comprehension(run, env, node)


# -- operators -------------------------------------------------------------------------------------------------------


def _binary(run: Interpreter, env: Env, node: ast.BinOp) -> Value:
    left, right = evaluate(run, env, node.left), evaluate(run, env, node.right)
    return combine(run, env, node, left, node.op, right)


def _compare(run: Interpreter, env: Env, node: ast.Compare) -> Value:
    values = [evaluate(run, env, side) for side in (node.left, *node.comparators)]
    asks = all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops) and any(is_none(value) for value in values)
    marks = merged(_marks_of_none(value) if asks else value.marks for value in values)
    protocols.compared(run, env, node, values)
    for left, op, right in zip(values, node.ops, values[1:], strict=False):
        _compared(run, env, node, left, op, right)
    arrays = any(isinstance(value, Array) for value in values)
    by_object = all(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops)
    if not arrays or by_object:
        return Number(raised(marks, Vary.CHOICE))
    made = of_arrays(values, marks)
    size = made.size.cast_to(MASK, None, env.code(node), env.place(node)) if made.size is not None else None
    return replace(made, cast=MASK, size=size)


def _marks_of_none(value: Value) -> Marks:
    """How it differs between iterations whether a value is None: for one that never is, not at all."""
    return value.chosen if isinstance(value, OneOf) else value.marks if isinstance(value, Unknown) else ()


def _compared(run: Interpreter, env: Env, node: ast.Compare, left: Value, op: ast.cmpop, right: Value) -> None:
    nothing = any(isinstance(one, Const) and one.value is None for one in (left, right))
    inside = isinstance(op, ast.In | ast.NotIn)
    asked = [one for one in options(right) if inside and _answers_for_itself(run, one)]
    for one in asked:
        call_method(run, env, node, one, "__contains__", [left])
    if asked and len(asked) == sum(1 for _ in options(right)):
        return
    sides = [left] if inside else [left, right]  # what is looked in is not compared
    for one in (option for side in sides for option in options(side)):
        if isinstance(one, Listed) and not isinstance(op, ast.In | ast.NotIn):
            run.use(one.cell, Does.TEST if nothing else Does.COMPARE, node, env)
        by_object = isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn)
        if isinstance(one, Instance) and not nothing:
            run.use_of(one, Does.COMPARE, node, env)
        other = right if any(one is each for each in options(left)) else left
        if all(_are_never_one(run, one, each) for each in options(other)):
            continue  # no layer is one of these, in a loop or in a scan
        if isinstance(one, Instance) and not nothing and (by_object or run.classes.is_module(one.cls)):
            run.effect(Act.IDENTITY, env.code(node), node, env)
            for option in (*options(left), *options(right)):
                if isinstance(option, Instance):
                    run.touch(option, Does.COMPARE, node, env)
            return


def _answers_for_itself(run: Interpreter, value: Value) -> bool:
    """Whether the class of an object says what is in it."""
    defined = isinstance(value, Instance) and isinstance(value.cls, Definition)
    return defined and run.classes.method(value.cls, "__contains__") is not None  # type: ignore[union-attr,arg-type]


def _are_never_one(run: Interpreter, one: Value, other: Value) -> bool:
    """Whether two values are surely not one object: a module and something that is none."""
    if isinstance(other, Instance):
        marker = isinstance(other.cls, Library) and other.name == "builtins.object"
        return marker or is_layer(run, one) is not is_layer(run, other)
    return isinstance(other, Class | Const | Library | Function)


def _unary(run: Interpreter, env: Env, node: ast.UnaryOp) -> Value:
    value = evaluate(run, env, node.operand)
    if not isinstance(node.op, ast.Not):
        protocols.negated(run, env, node, value)
    else:
        tested(run, env, node.operand, value)
        return Number(raised(value.marks, Vary.CHOICE))
    if isinstance(value, Const) and isinstance(node.op, ast.USub) and isinstance(value.value, int | float):
        return Const(-value.value, value.marks)
    return value if isinstance(value, Number | Array | Unknown) else Number(value.marks)


def tested(run: Interpreter, env: Env, node: ast.expr, value: Value) -> None:
    """Note what a condition asks of a value."""
    protocols.truth(run, env, node, value)
    concrete(run, env, node, value)
    for option in options(value):
        if isinstance(option, Listed | Mapped):
            run.use(option.cell, Does.TEST, node, env, "truth")
    if value.marks and not isinstance(value, Array):
        run.effect(Act.BRANCH, env.code(node), node, env, marks=value.marks)


def _boolean(run: Interpreter, env: Env, node: ast.BoolOp) -> Value:
    values = evaluate_all(run, env, node.values)
    for part, value in zip(node.values[:-1], values, strict=False):
        tested(run, env, part, value)
    decides = merged(value.marks for value in values[:-1] if not isinstance(value, Key | Array))
    return marked(join(values), raised(decides, Vary.CHOICE))


def _choice(run: Interpreter, env: Env, node: ast.IfExp) -> Value:
    test = evaluate(run, env, node.test)
    tested(run, env, node.test, test)
    if (taken := outcome(env, node.test, test)) is not None:
        return evaluate(run, env, node.body if taken else node.orelse)
    sides = narrowed(run, env, node.test)
    if sides is None:
        value = join([evaluate(run, env, node.body), evaluate(run, env, node.orelse)])
        return marked(value, raised(test.marks, Vary.CHOICE))
    name, yes, no = sides
    before, found = env.names[name], []
    for side, part in ((yes, node.body), (no, node.orelse)):
        env.bind(name, side)
        found.append(evaluate(run, env, part))
        env.bind(name, before)
    return marked(join(found), raised(test.marks, Vary.CHOICE))


# -- subscripts ------------------------------------------------------------------------------------------------------


def call_method(run: Interpreter, env: Env, node: ast.AST, owner: Value, name: str, positional: list[Value]) -> Value:
    """The value of `owner.name(...)`."""
    from scanify.analysis.values.calls.calls import call

    return call(run, env, node, attribute(run, env, node, owner, name), positional, {})


# -- the rest --------------------------------------------------------------------------------------------------------


def _subscript(run: Interpreter, env: Env, node: ast.Subscript) -> Value:
    from scanify.analysis.values.code.subscripts import subscript

    return subscript(run, env, node)


def _lambda(run: Interpreter, env: Env, node: ast.Lambda) -> Value:
    marks = merged(
        value.marks
        for each in nodes_in(node.body)
        if isinstance(each, ast.Name) and (value := env.lookup(each.id)) is not None
    )
    if env.function is not None:
        evaluate_all(run, env, [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)])
    made = Function(node, env, fresh=run.tick() if env.function is not None else 0, marks=marks)
    run.closures.append(made)
    return made


def _call(run: Interpreter, env: Env, node: ast.Call) -> Value:
    from scanify.analysis.values.calls.calls import call_node

    return call_node(run, env, node)


def _walrus(run: Interpreter, env: Env, node: ast.NamedExpr) -> Value:
    value = evaluate(run, env, node.value)
    bind_target(run, env, node.target, value)
    return value


def _text(run: Interpreter, env: Env, node: ast.JoinedStr) -> Value:
    from scanify.analysis.values.calls.calls import given_away

    parts = [part for part in node.values if isinstance(part, ast.FormattedValue)]
    values = [evaluate(run, env, part.value) for part in parts]
    values += [evaluate(run, env, part.format_spec) for part in parts if part.format_spec is not None]
    protocols.asked(run, env, node, values, protocols.TEXT)
    given_away(run, env, node, values, "an f-string", Does.TEXT)
    written(run, env, node, values)
    return Text(raised(held_marks(*values), Vary.NUMBER))


def _starred(run: Interpreter, env: Env, node: ast.Starred) -> Value:
    return evaluate(run, env, node.value)


def _yielded(run: Interpreter, env: Env, node: ast.Yield | ast.YieldFrom) -> Value:
    from scanify.analysis.values.iterations.generators import note_yield

    return note_yield(run, env, node, evaluate(run, env, node.value) if node.value is not None else None)


def _awaited(run: Interpreter, env: Env, node: ast.Await) -> Value:
    evaluate(run, env, node.value)
    run.effect(Act.UNKNOWN, env.code(node), node, env)
    return Unknown("what a coroutine gives")


def _slice(run: Interpreter, env: Env, node: ast.Slice) -> Value:
    parts = evaluate_all(run, env, [each for each in (node.lower, node.upper, node.step) if each is not None])
    protocols.asked(run, env, node, parts, ("__index__",))
    return Unknown("a slice", data=Data.ARRAYS)


_HANDLERS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dict,
    ast.ListComp: _comprehended,
    ast.GeneratorExp: _comprehended,
    ast.SetComp: _comprehended,
    ast.DictComp: _comprehended,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _choice,
    ast.Subscript: _subscript,
    ast.Lambda: _lambda,
    ast.Call: _call,
    ast.NamedExpr: _walrus,
    ast.JoinedStr: _text,
    ast.Starred: _starred,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
    ast.Await: _awaited,
    ast.Slice: _slice,
}
