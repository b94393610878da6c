"""Calls of layers of libraries: what they give, and which of their arguments they call."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.index.meaning import External
from scanify.analysis.values import tables
from scanify.analysis.values.calls.allocate import new_list
from scanify.analysis.values.calls.functions.arguments import may_be_called
from scanify.analysis.values.calls.resizing import of_layer
from scanify.analysis.values.domain import (
    Array,
    Const,
    Function,
    Instance,
    Library,
    Listed,
    Partial,
    Unknown,
    Value,
    options,
)
from scanify.analysis.values.heap import Does, Group
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.objects.protocols import note_passed
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Named = Mapping[str, Value]


def call_library_instance(
    run: Interpreter, env: Env, node: ast.AST, owner: Instance, positional: Sequence[Value], named: Named
) -> Value:
    """Applying a layer of a library: pure, but for what it calls of the project's."""
    from scanify.analysis.values.calls.calls import call

    last = owner.name.rpartition(".")[2]
    if owner.name.startswith("equinox.experimental."):
        run.effect(Act.WRITE, owner.name, node, env)
    elif last in ("Module", "StatefulLayer") or not _is_layer(run, owner):
        run.effect(Act.UNKNOWN, env.code(node), node, env)
        return Unknown("what a module of any class gives", env.place(node), held_marks(owner, *positional))
    if last != "Identity" and last.startswith((*tables.PLAIN_LAYERS, "MLP")):
        note_passed(run, positional)
    run.use_of(owner, Does.WALK, node, env)
    if last == "Sequential" and isinstance(layers := owner.fields.get("layers"), Listed):
        value: Value = positional[0] if positional else Array()
        for group in layers.cell.groups:
            value = call(run, env, node, group.element, [value, *positional[1:]], {})
        return value if isinstance(value, Array) else Array()
    plain = last.startswith(tables.PLAIN_LAYERS)
    if not plain and (not owner.fields or any(_hides_call(last, *each) for each in owner.fields.items())):
        run.effect(Act.UNKNOWN, env.code(node), node, env)
    for option in (option for field in owner.fields.values() for option in options(field)):
        if isinstance(option, Function | Partial | Instance) and may_be_called(run, option):
            call(run, env, node, option, [Array()], {})
    marks = held_marks(owner, *positional)
    made = Array(marks=marks, born=run.tick(), size=of_layer(env, node, owner, positional))
    if last in tables.STATEFUL_TYPES and len(positional) > 1:  # `x, state = self.norm(x, state)`
        pair = new_list(run, env, node, is_tuple=True)
        pair.groups = [Group(each, node, env.module) for each in (made, positional[1])]
        return Listed(pair)
    return made


def _is_layer(run: Interpreter, owner: Instance) -> bool:
    """Whether an object is of a class of layers of a library, and of none of the project that inherits from it."""
    assert isinstance(owner.cls, Library)
    overridden = not owner.exact and run.classes.has_heirs(owner.name)
    return run.classes.is_module(External(owner.name)) and not overridden


def _hides_call(last: str, name: str, value: Value) -> bool:
    """Whether a layer calls an argument of which the source does not show what it is."""
    called = [f"argument {at}" for at in tables.CALLED_ARGUMENTS.get(last, ())]
    called += ["layers", "argument 0"] if last == "Sequential" else []
    if name not in called and not name.endswith(("fn", "activation", "operation", "layer", "layers", "cell")):
        return False
    unknown = (option for option in options(value) if not isinstance(option, Listed | Const | Function | Partial))
    return any(not isinstance(each, Instance) and not _is_listed(each) for each in unknown)


def _is_listed(value: Value) -> bool:
    return isinstance(value, Library) and tables.is_listed(value.qualname)
