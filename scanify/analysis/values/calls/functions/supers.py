"""`super()`: the methods that a class inherits, of the project's classes and of layers of equinox."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.index.meaning import External
from scanify.analysis.values import tables
from scanify.analysis.values.calls.attributes import class_env
from scanify.analysis.values.classes import library_module
from scanify.analysis.values.domain import NONE, Class, Function, Instance, Library, Partial, Unknown, Value
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

LIBRARY_INIT = "constructor of "


def library_init(run: Interpreter, of: Partial, positional: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`super().__init__(...)` of a class that inherits from a layer of a library: the object has what that one has."""
    from scanify.analysis.values.calls.library import library_fields

    assert isinstance(of.function, Instance)
    run.changes.note(of.function.fields, of.function.born, telling=True)
    of.function.fields.update(library_fields(of.through.removeprefix(LIBRARY_INIT), positional, named))
    return NONE


def super_object(run: Interpreter, env: Env, node: ast.Call) -> Value:
    """What `super()` or `super(Block, self)` stands for: the object, and the class whose bases are asked."""
    if node.args:
        return _of_arguments(run, env, node)
    run.effect(Act.SUPER, "super()", node, env)
    around: Env | None = env
    while around is not None and around.self_name is None:
        around = around.parent
    if around is None or around.owner is None:
        return Unknown("`super()` outside of a method")
    instance = around.lookup(around.self_name or "")
    if not isinstance(instance, Instance):
        return Unknown("`super()` of an unknown object")
    return _super_of(instance, Class(around.owner))


def _of_arguments(run: Interpreter, env: Env, node: ast.Call) -> Value:
    from scanify.analysis.values.code.expressions import evaluate

    values = [evaluate(run, env, each) for each in node.args]
    if len(values) == 2 and isinstance(values[0], Class) and isinstance(values[1], Instance):
        return _super_of(values[1], values[0])
    return Unknown("`super(...)` of an unknown object")


def _super_of(instance: Instance, owner: Class) -> Partial:
    return Partial(instance, through=f"super of {owner.definition.name}", named=(("owner", owner),))


def super_attribute(run: Interpreter, of: Partial, name: str) -> Value:
    """The method that `super().name` stands for."""
    instance, owner = of.function, of.named[0][1]
    if not isinstance(instance, Instance) or isinstance(instance.cls, Library) or not isinstance(owner, Class):
        return Unknown(f"`super().{name}`")
    lineage = run.classes.lineage(instance.cls)
    nodes = [each.node for each in lineage]
    start = nodes.index(owner.definition.node) + 1 if owner.definition.node in nodes else len(nodes)
    for each in lineage[start:]:
        function = run.classes.methods(each).get(name)
        if function is not None:
            return Function(function, class_env(run, each), instance)
    bases = [base for each in lineage for base in run.classes.bases(each) if isinstance(base, External)]
    layer = next((base.qualname for base in bases if base.qualname.startswith("equinox.nn.")), "")
    if name == "__init__" and library_module(layer):
        return Partial(instance, through=f"{LIBRARY_INIT}{layer}")
    if name == "__init__" and run.classes.known_bases(instance.cls):
        return Library("builtins.object")
    plain = next((base for base in bases if base.qualname.rpartition(".")[2].startswith(tables.PLAIN_LAYERS)), None)
    if (
        name == "__call__"
        and plain is not None
        and library_module(plain.qualname)
        and run.classes.known_bases(instance.cls)
    ):
        return Instance(Library(plain.qualname), {}, True, True, node=instance.node)
    return Unknown(f"`super().{name}` is defined in another package")


def own_birth(env: Env, node: ast.expr) -> int:
    """When the object was made that `super().__init__(...)` goes on making; 0 for all other code."""
    match node:
        case ast.Call(ast.Attribute(ast.Call(ast.Name("super")), "__init__")):
            own = env.lookup(env.self_name) if env.self_name is not None else None
            return own.born if isinstance(own, Instance) else 0
        case _:
            return 0
