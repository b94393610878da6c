"""What runs where an attribute is read: properties, `__get__` of what a class has under the name, metaclasses.

https://docs.python.org/3/howto/descriptor.html
"""

import ast

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values.domain import (
    Class,
    Const,
    Function,
    Instance,
    Library,
    Partial,
    Text,
    Unknown,
    Value,
    join,
    options,
)
from scanify.analysis.values.objects.protocols import note_operation
from scanify.analysis.values.run.before import made_once
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

# The methods that are asked for any attribute, and for one that is missing.
ALL, MISSING = "__getattribute__", "__getattr__"
_PROPERTIES = ("property", "cached_property")
PROPERTIES = ("builtins.property", "functools.cached_property")


def intercepting(run: Interpreter, owner: Instance) -> frozenset[str]:
    """The special methods of an object's class, of which those below are asked for its attributes."""
    return run.classes.special_methods(owner.cls) if isinstance(owner.cls, Definition) else frozenset()


def intercepted(run: Interpreter, env: Env, node: ast.AST, owner: Instance, how: str) -> Value:
    """What such a method gives."""
    from scanify.analysis.values.calls.attributes import class_env
    from scanify.analysis.values.calls.calls import call

    found = run.classes.method(owner.cls, how) if isinstance(owner.cls, Definition) else None
    if found is None or found[1] in run.calling:
        return Unknown(f"`{owner.name}.{how}` reads an attribute of its own object", env.place(node))
    return call(run, env, node, Function(found[1], class_env(run, found[0]), owner), [Text()], {})


def read_of_class(run: Interpreter, env: Env, node: ast.AST, value: Value, owner: Instance | Class) -> Value:
    """What reading something that the class of an object has gives: the thing, or what it says then."""
    found = [_read(run, env, node, option, owner) for option in options(value)]
    return value if all(mine is theirs for mine, theirs in zip(found, options(value), strict=True)) else join(found)


def _read(run: Interpreter, env: Env, node: ast.AST, value: Value, owner: Instance | Class) -> Value:
    from scanify.analysis.values.calls.calls import call

    if isinstance(value, Function) and not isinstance(value.node, ast.Lambda) and isinstance(owner, Instance):
        return _decorated(run, env, node, value, owner)
    if isinstance(value, Partial) and value.through in PROPERTIES and isinstance(owner, Instance):
        return call(run, env, node, value.function, [owner], {})
    note_operation(run, env, node, [value], ("__get__",))
    getter = _getter(run, value)
    if getter is None:
        return value
    cls = owner.cls if isinstance(owner, Instance) else owner.definition
    own = Class(cls) if isinstance(cls, Definition) else cls
    given: list[Value] = [owner if isinstance(owner, Instance) else Const(None), own]
    return call(run, env, node, getter, given, {})


def _getter(run: Interpreter, value: Value) -> Value | None:
    """The `__get__` of an object of a class of the project."""
    from scanify.analysis.values.calls.attributes import of_definition

    if not isinstance(value, Instance) or not isinstance(value.cls, Definition):
        return None
    return of_definition(run, value.cls, "__get__", value)


def told_of_store(run: Interpreter, env: Env, node: ast.AST, owner: Instance, name: str, value: Value) -> None:
    """Run what storing into an attribute runs: `__set__` of an object that the class has under the name."""
    from scanify.analysis.values.calls.attributes import class_env, of_definition
    from scanify.analysis.values.calls.calls import call

    known = run.classes.constant(owner.cls, name) if isinstance(owner.cls, Definition) else None
    if known is None:
        return
    for option in options(made_once(run, class_env(run, known[0]), known[1])):
        if isinstance(option, Instance) and isinstance(option.cls, Definition):
            setter = of_definition(run, option.cls, "__set__", option)
            if setter is not None:
                call(run, env, node, setter, [owner, value], {})


def _decorated(run: Interpreter, env: Env, node: ast.AST, method: Function, owner: Instance) -> Value:
    """What reading a method gives: for a property what it returns, for other decorators what these make of it."""
    from scanify.analysis.values.calls.calls import call
    from scanify.analysis.values.code.expressions import evaluate

    for decorator in getattr(method.node, "decorator_list", ()):
        if ast.unparse(decorator).rpartition(".")[2] in _PROPERTIES:
            return call(run, env, node, method, [], {})
        with run.recording():
            meaning = evaluate(run, method.env, decorator)
        if isinstance(meaning, Class) and run.classes.method(meaning.definition, "__get__") is not None:
            with run.recording(), run.elsewhere():
                made = call(run, env, node, meaning, [Function(method.node, method.env, bare=True)], {})
            return _read(run, env, node, made, owner)
    return method


def of_metaclass(run: Interpreter, env: Env, node: ast.AST, owner: Class, name: str) -> Value | None:
    """What reading an attribute of a class gives where its metaclass, one of the project, has a property for it."""
    for each in run.classes.lineage(owner.definition):
        for keyword in getattr(each.node, "keywords", ()):
            if keyword.arg != "metaclass":
                continue
            with run.recording():
                from scanify.analysis.values.code.expressions import evaluate

                meta = evaluate(run, run.module_env(each.module), keyword.value)
            if isinstance(meta, Library):
                return None
            if not isinstance(meta, Class) or run.classes.method(meta.definition, name) is not None:
                run.effect(Act.UNKNOWN, f"`{owner.definition.name}.{name}` through its metaclass", node, env)
                return Unknown(f"`{owner.definition.name}.{name}` is what its metaclass says", env.place(node))
    return None
