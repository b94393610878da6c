"""What a library calls a function with that it is given: arrays, unless the function says what it takes."""

import ast

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values.calls.attributes import class_env
from scanify.analysis.values.code.annotations import parameter
from scanify.analysis.values.domain import Array, Function, Instance, Value
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def arguments_of(run: Interpreter, function: Value) -> list[Value]:
    """What a function is called with, for each parameter without a default; one array for what is not shown."""
    if isinstance(function, Function):
        return _taken(run, function.env, function.node.args, int(function.bound is not None))
    if isinstance(function, Instance) and isinstance(function.cls, Definition):
        found = run.classes.method(function.cls, "__call__")
        if found is not None:
            return _taken(run, class_env(run, found[0]), found[1].args, 1)
    return [Array()]


def may_be_called(run: Interpreter, value: Value) -> bool:
    """Whether a value is a function, as far as it is shown: a `NamedTuple` of the project is none."""
    if not isinstance(value, Instance) or not isinstance(value.cls, Definition) or not value.exact:
        return True
    classes = run.classes
    known = classes.known_bases(value.cls) and classes.library_base(value.cls, "__call__") is None
    return not known or classes.method(value.cls, "__call__") is not None


def _taken(run: Interpreter, env: Env, arguments: ast.arguments, bound: int) -> list[Value]:
    plain = [*arguments.posonlyargs, *arguments.args]
    needed = plain[bound : len(plain) - len(arguments.defaults)]
    return [_one(run, env, each) for each in needed]


def _one(run: Interpreter, env: Env, argument: ast.arg) -> Value:
    """An object of a class where the annotation names one; else an array."""
    said = parameter(run, env, argument.arg, argument.annotation) if argument.annotation is not None else None
    return said if isinstance(said, Instance) and isinstance(said.cls, Definition) else Array()
