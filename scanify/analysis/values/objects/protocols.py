"""What Python calls of an object without naming it: `__bool__` in a condition, `__eq__` in a comparison, `__format__`.

https://docs.python.org/3/reference/datamodel.html#special-method-names. What such a method gives is not followed here,
what it does is. Operators, subscripts, `with` and loops call theirs where they are evaluated.
"""

import ast
from collections.abc import Iterable, Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.values import tables
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import (
    Array,
    Class,
    Const,
    Instance,
    Key,
    Listed,
    Mapped,
    Text,
    Unknown,
    Value,
    Walked,
    options,
)
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

_TRUTH = ("__bool__", "__len__")
WALKED = ("__iter__", "__next__", "__len__", "__reversed__", "__getitem__")
_ORDER = ("__lt__", "__gt__", "__le__", "__ge__", "__eq__")
_NUMBER = ("__float__", "__int__", "__index__", "__trunc__", "__complex__")
TEXT = ("__format__", "__str__", "__repr__")
KEY = ("__index__", "__hash__", "__eq__")
# What functions ask of an object that they are given, and of those in a list of theirs.
_BUILTINS: dict[str, tuple[str, ...]] = {
    "bool": _TRUTH,
    **dict.fromkeys(("float", "int", "complex", "range", "bin", "hex", "oct", "chr"), _NUMBER),
    **dict.fromkeys(("str", "repr", "format", "print", "ascii"), TEXT),
    **dict.fromkeys(("any", "all", "filter"), (*WALKED, *_TRUTH)),
    **dict.fromkeys(("sorted", "min", "max"), (*WALKED, *_ORDER)),
    **dict.fromkeys(("list", "tuple", "enumerate", "zip", "map", "iter", "next", "reversed"), WALKED),
    **dict.fromkeys(("set", "frozenset", "dict"), (*WALKED, *KEY)),
    **dict.fromkeys(("bytes", "bytearray", "memoryview"), ("__bytes__", "__index__", *WALKED)),
    "len": ("__len__",),
    "dir": ("__dir__",),
    "sum": (*WALKED, "__add__", "__radd__"),
    "hash": ("__hash__",),
    "abs": ("__abs__",),
    "round": ("__round__",),
    "divmod": ("__divmod__", "__rdivmod__"),
    "pow": ("__pow__", "__rpow__"),
    "isinstance": ("__class__",),
    **dict.fromkeys(("getattr", "hasattr", "vars"), ("__getattr__", "__getattribute__")),
}
_COPIED = ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__")
_ARRAYS = ("__array__", "__jax_array__", *_NUMBER, "__floor__", "__ceil__", "__fspath__", *_COPIED)
_COMPARED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Eq: ("__eq__",),
    ast.NotEq: ("__ne__", "__eq__"),
    ast.In: ("__eq__", "__hash__"),
    ast.NotIn: ("__eq__", "__hash__"),
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), _ORDER),
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
UNNAMED = frozenset(
    (*_TRUTH, *_ORDER, *TEXT, *KEY, *_ARRAYS, "__ne__", "__abs__", "__round__", "__contains__", "__enter__", "__exit__")
) | {"__getattr__", "__getattribute__"}
"""What is asked of an object without a call of it, a subscript, a loop or an operator in the text."""
IN_PLACE = frozenset("__setitem__ __delitem__ __iadd__ __imul__ __ior__ __iand__ __isub__ __ixor__ __init__".split())
"""The methods of lists, dicts and arrays that change them and are seldom called by name."""
_DEEP = 2  # lists in lists that a function is given


def data_of(run: Interpreter, values: Iterable[Value], depth: int = 0) -> Data:
    """What is known of the data that some values are or hold; functions and classes among them do not count."""
    return min((_data_of(run, option, depth) for value in values for option in options(value)), default=Data.ARRAYS)


def _data_of(run: Interpreter, value: Value, depth: int) -> Data:
    match value:
        case Unknown():
            return Data.ARRAYS if value.argument and value.argument in run.passed else value.data
        case Instance():
            return Data.OPEN
        case Listed(cell=cell) | Mapped(cell=cell):
            held = [*getattr(cell, "entries", {}).values(), *(group.element for group in cell.groups)]
            closed = (cell.whole or held) and depth < _DEEP
            return data_of(run, held, depth + 1) if closed else Data.OPEN
        case Walked():
            return data_of(run, value.parts, depth + 1) if depth < _DEEP else Data.OPEN
        case _:
            return Data.ARRAYS


def note_passed(run: Interpreter, values: Iterable[Value]) -> None:
    """Note that a function of arrays is given some values: those that are arguments are arrays."""
    found = (option for value in values for option in options(value))
    run.passed.update(each.argument for each in found if isinstance(each, Unknown) and each.argument)


def note_operation(run: Interpreter, env: Env, node: ast.AST, values: Iterable[Value], names: Sequence[str]) -> None:
    """Note an operation that runs the methods `names` of values of an unknown class, or one with an unknown base class:
    they may do anything.

    Those of an argument, or of a key that only its name declares, do what the classes of the project do in methods of
    these names.
    """
    for option in (option for value in values for option in options(value)):
        data = data_of(run, [option]) if isinstance(option, Unknown) else Data.ARRAYS
        walked = data is Data.ARGUMENT and "__iter__" in names  # it may be an iterator, which is used up
        if isinstance(option, Key) and not option.split:
            data = Data.ARGUMENT
        elif isinstance(option, Instance) and isinstance(option.cls, Definition):
            data = Data.ARRAYS if run.classes.known_bases(option.cls) else Data.OPEN
        if data is Data.OPEN or walked or (data is Data.ARGUMENT and any(map(run.classes.acts, names))):
            argument = getattr(option, "argument", None)
            run.effect(Act.UNKNOWN, env.code(node), node, env, owner=option, argument=argument)


def truth(run: Interpreter, env: Env, node: ast.AST, value: Value) -> None:
    """Run what a condition asks of an object."""
    note_operation(run, env, node, [value], _TRUTH)
    for option in options(value):
        if isinstance(option, Instance) and (own := _methods(run, option)):
            asked(run, env, node, [option], next(([each] for each in _TRUTH if each in own), []))


def compared(run: Interpreter, env: Env, node: ast.Compare, values: Sequence[Value]) -> None:
    """Run what comparisons ask of the objects on both sides."""
    for left, op, right in zip(values, node.ops, values[1:], strict=False):
        inside = isinstance(op, ast.In | ast.NotIn) and not isinstance(right, Listed)
        if inside:
            note_operation(run, env, node, [right], ("__contains__", *WALKED))
        asked(run, env, node, [left] if inside else [left, right], _COMPARED.get(type(op), ()))


def unpacked(run: Interpreter, env: Env, node: ast.AST, value: Value) -> None:
    """Run what `f(**x)` asks of an object: for its keys, and for what it has under them."""
    from scanify.analysis.values.code.expressions import call_method

    note_operation(run, env, node, [value], ("keys", "__getitem__"))
    for option in options(value):
        if isinstance(option, Instance) and isinstance(option.cls, Definition):
            if run.classes.method(option.cls, "keys") is not None:
                call_method(run, env, node, option, "keys", [])
            asked(run, env, node, [option], ("__iter__", "__getitem__"))


def class_asked(run: Interpreter, env: Env, node: ast.AST, classes: Value) -> None:
    """Run what `isinstance(x, classes)` asks of a class, or of those in a tuple: its metaclass may say anything."""
    from scanify.analysis.values.calls.functions.descriptors import of_metaclass

    note_operation(run, env, node, [classes], ("__instancecheck__",))
    for option in options(classes):
        if isinstance(option, Class):
            for name in ("__instancecheck__", "__subclasscheck__"):
                of_metaclass(run, env, node, option, name)
        elif isinstance(option, Listed):
            for group in option.cell.groups:
                class_asked(run, env, node, group.element)


def negated(run: Interpreter, env: Env, node: ast.UnaryOp, value: Value) -> None:
    """Run what an operator with one side asks of an object."""
    asked(run, env, node, [value], (_UNARY.get(type(node.op), ""),))


def given(run: Interpreter, env: Env, node: ast.AST, values: Iterable[Value], name: str) -> None:
    """Run what a function of a library may ask of the objects that it is given."""
    root, _, last = name.partition(".")
    if name in tables.CALLERS or name == "functools.partial":
        return  # nothing is done to a function before it is called
    if root == "operator":
        own = last.strip("_")
        asked(run, env, node, values, (f"__{own}__", f"__r{own}__", *UNNAMED, *WALKED))
    else:
        asked(run, env, node, values, _BUILTINS.get(last, ()) if root == "builtins" else _ARRAYS)


def given_method(run: Interpreter, env: Env, node: ast.AST, owner: Value, name: str, values: Sequence[Value]) -> None:
    """Run what a method of a list, a dict, an array or a text asks of the objects that it is given."""
    for option in options(owner):
        if isinstance(option, Mapped):
            asked(run, env, node, values[:1], KEY)
        elif isinstance(option, Listed) and name in ("index", "count", "remove"):
            asked(run, env, node, values[:1], ("__eq__",))
        elif isinstance(option, Listed) and name not in ("append", "insert", "add", "discard"):
            note_operation(run, env, node, values, WALKED)
        elif isinstance(option, Array):
            asked(run, env, node, values, _ARRAYS)
        elif isinstance(option, Text | Const):
            asked(run, env, node, values, TEXT)


def asked(
    run: Interpreter, env: Env, node: ast.AST, values: Iterable[Value], names: Sequence[str], depth: int = 0
) -> None:
    """Run those methods of some objects that have these names, and of those in lists of them."""
    for value in values:
        if names and names != ("__class__",):
            note_operation(run, env, node, [value], names)
        for option in options(value):
            if isinstance(option, Instance):
                own = _methods(run, option)
                for name in names if own else ():
                    if name in own and not (name == "__getitem__" and "__iter__" in own):
                        _run(run, env, node, option, name, sure=option is value)
            elif isinstance(option, Listed) and depth < _DEEP:
                asked(run, env, node, [group.element for group in option.cell.groups], names, depth + 1)
            elif isinstance(option, Listed) and names and data_of(run, [option]) is Data.OPEN:
                run.effect(Act.UNKNOWN, env.code(node), node, env)  # more lists in lists than are looked into


def _methods(run: Interpreter, value: Instance) -> frozenset[str]:
    return run.classes.special_methods(value.cls) if isinstance(value.cls, Definition) else frozenset()


def _run(run: Interpreter, env: Env, node: ast.AST, owner: Instance, name: str, *, sure: bool) -> None:
    """Run a method; what it needs a concrete value for counts where the object is shown to be there: else the loop may
    never get there, and a scan that does raises.
    """
    from scanify.analysis.values.calls.attributes import of_definition
    from scanify.analysis.values.calls.calls import call
    from scanify.analysis.values.calls.functions.arguments import arguments_of

    method = of_definition(run, owner.cls, name, owner) if isinstance(owner.cls, Definition) else None
    with run.recording() as recorded:
        for option in options(method) if method is not None else ():
            call(run, env, node, option, arguments_of(run, option), {})
    run.effects.extend(effect for effect in recorded if sure or effect.act is not Act.CONCRETE)
