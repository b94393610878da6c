"""What Python calls of an object without naming it: `__bool__` in a condition, `__eq__` in a comparison, `__format__`.

https://docs.python.org/3/reference/datamodel.html#special-method-names. What such a method gives is not followed here,
what it does is. Operators, subscripts, `with` and loops call theirs where they are evaluated.
"""

import ast
from collections.abc import Iterable

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values.domain import Instance, Listed, Value, options
from scanify.analysis.values.environment import Env
from scanify.analysis.values.interpreter import Interpreter

_EXPLICIT = frozenset(
    """__init__ __new__ __post_init__ __call__ __init_subclass__ __class_getitem__ __set_name__ __check_init__ __del__
    __get__ __set__ __delete__ __getattr__ __getattribute__ __setattr__ __delattr__ __enter__ __exit__ __aenter__
    __aexit__ __getstate__ __setstate__ __reduce__ __copy__ __deepcopy__ __prepare__ __missing__""".split()
)
_TRUTH = ("__bool__", "__len__")
# What asks an object for no more than what it is.
_ASKS_NOTHING = frozenset("builtins.id builtins.type builtins.hasattr builtins.getattr builtins.callable".split())
_DEEP = 2  # lists in lists that a function is given


def truth(run: Interpreter, env: Env, node: ast.AST, value: Value) -> None:
    """Run what a condition asks of an object."""
    for option in _objects(value):
        own = implied(run, option)
        name = next((each for each in _TRUTH if each in own), None)
        if name is not None:
            _run(run, env, node, option, name)


def given(run: Interpreter, env: Env, node: ast.AST, values: Iterable[Value], name: str = "") -> None:
    """Run whatever a function of a library, or an operator, may ask of the objects that it is given."""
    if name not in _ASKS_NOTHING:
        for value in values:
            _all(run, env, node, value, 0)


def _all(run: Interpreter, env: Env, node: ast.AST, value: Value, depth: int) -> None:
    for option in options(value):
        if isinstance(option, Instance):
            for name in implied(run, option):
                _run(run, env, node, option, name)
        elif isinstance(option, Listed) and depth < _DEEP:
            for group in option.cell.groups:
                _all(run, env, node, group.element, depth + 1)


def _objects(value: Value) -> Iterable[Instance]:
    return (option for option in options(value) if isinstance(option, Instance))


def implied(run: Interpreter, value: Instance) -> tuple[str, ...]:
    """The methods of an object's class that Python calls without their being named; () for most classes."""
    names = run.classes.special_methods(value.cls) if isinstance(value.cls, Definition) else ()
    return tuple(sorted(names - _EXPLICIT)) if names else ()


def _run(run: Interpreter, env: Env, node: ast.AST, owner: Instance, name: str) -> None:
    from scanify.analysis.values.calls.arguments import arguments_of
    from scanify.analysis.values.calls.attributes import of_definition
    from scanify.analysis.values.calls.calls import call

    method = of_definition(run, owner.cls, name, owner) if isinstance(owner.cls, Definition) else None
    for option in options(method) if method is not None else ():
        call(run, env, node, option, arguments_of(run, option), {})
