"""Calls of libraries and builtins: what they give, and which of their arguments they call."""

import ast
from collections.abc import Callable, Mapping, Sequence

from scanify.analysis.values import tables
from scanify.analysis.values.calls.arrays import COMPLEX, asked_of_shape, dtype_asked, dtype_marks, kind_of_number
from scanify.analysis.values.calls.builtin_calls import BUILTINS
from scanify.analysis.values.calls.copies import Copying, tree_mapped
from scanify.analysis.values.calls.functions.arguments import arguments_of, may_be_called
from scanify.analysis.values.calls.functions.descriptors import PROPERTIES
from scanify.analysis.values.calls.given_functions import unknown_taker
from scanify.analysis.values.calls.methods import written_to
from scanify.analysis.values.calls.resizing import cast, of_function
from scanify.analysis.values.calls.rows import rows_made
from scanify.analysis.values.calls.tree_at import shared, tree_at
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import (
    NONE,
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
    Partial,
    Unknown,
    Value,
    Walked,
    counted,
    join,
    marked,
    options,
    shape_of,
    sized,
)
from scanify.analysis.values.heap import Does
from scanify.analysis.values.iterations.iteration import iterate
from scanify.analysis.values.marks import AN_ELEMENT, Marks, Vary, as_keys, merged, raised
from scanify.analysis.values.nnx import as_jax
from scanify.analysis.values.objects import protocols
from scanify.analysis.values.objects.held import held_marks
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Named = Mapping[str, Value]
Handler = Callable[[Interpreter, Env, ast.AST, Sequence[Value], Named], Value]

_OF_JAX = tuple(each for each in tables.ARRAY_PACKAGES if each.startswith("jax."))
_GIVING_DATA = (*tables.ARRAY_PACKAGES, "jax.", "equinox.", "math.", "cmath.", "operator.", "copy.", "dataclasses.")
_CALLABLE = (Function, Partial, Class, Instance)
_NO_SIZES = {"full": (1,), "linspace": (0, 1), "uniform": (3, 4), "truncated_normal": (1, 2), "bernoulli": (1,)}
"""The places of numbers that say no size, among the arguments of functions that make arrays."""


def call_library(
    run: Interpreter, env: Env, node: ast.AST, function: Library, positional: Sequence[Value], named: Named
) -> Value:
    """The value of a call of a library or a builtin."""
    from scanify.analysis.values.calls.attributes import attribute
    from scanify.analysis.values.calls.calls import call, unknown_call

    name = as_jax(function.qualname)
    if run.index.is_replaced(function.qualname):
        return unknown_call(run, env, node, function, positional, named)
    protocols.given(run, env, node, [*positional, *named.values()], name)
    handler = BUILTINS.get(name)
    if handler is not None:
        return handler(run, env, node, positional, named)
    if (method := _of_container(name)) is not None and positional and not isinstance(positional[0], Instance):
        bound = attribute(run, env, node, positional[0], method)
        return call(run, env, node, bound, positional[1:], named)
    values = [*positional, *named.values()]
    marks = held_marks(*values)
    if name == "functools.partial" and positional:
        return _made_partial(run, env, node, positional, named, marks)
    if name in PROPERTIES and (getter := positional[0] if positional else named.get("fget")) is not None:
        return Partial(getter, through=name)
    if name in tables.CALLERS:
        return _transformed(run, env, node, name, positional, named)
    if name in tables.IDENTITIES and positional and isinstance(positional[0], Instance):
        return positional[0]
    if name in tables.KEYS_ONE:
        return Key(as_keys(marks))
    if name in tables.KEYS_MANY:
        return _split(values, marks)
    if name == "equinox.tree_at":
        return tree_at(run, env, node, positional, named)
    if name == "equinox.nn.Shared":
        shared(run, env, node, positional, named)
    if run.classes.is_module(_external(name)) or name.rpartition(".")[2] in tables.STATEFUL_TYPES:
        return _library_module(run, env, node, name, positional, named)
    if name.rpartition(".")[0] in ("typing", "typing_extensions"):
        if name.endswith(".NewType"):
            return Library("builtins.identity")
        if name.endswith(".cast") and len(positional) == 2:
            return positional[1]
    if name == "builtins.object":
        return Instance(function, {}, True, True, node=node, born=run.tick())
    if name in ("copy.copy", "copy.deepcopy") and positional:
        return Copying(run, name == "copy.deepcopy").of(positional[0])
    if name in ("jax.lax.cond", "equinox.error_if") and len(positional) >= 3:
        branches = positional[1:3] if name == "jax.lax.cond" else ()
        return join([call(run, env, node, each, positional[3:], {}) for each in branches] or positional[:1])
    if name == "functools.reduce" and len(positional) >= 2:
        return _reduce(run, env, node, positional)
    found = _other(run, env, node, name, positional, named, marks)
    mapped = tree_mapped(run, env, node, positional, named) if name in tables.TREE_MAPS else None
    return found if mapped is None else mapped


def _of_container(name: str) -> str | None:
    """The method that `list.append(rates, x)` calls of its first argument; None for other functions."""
    owner, _, method = name.rpartition(".")
    return method if owner in tables.CONTAINERS and method != "fromkeys" else None


def _external(name: str) -> object:
    from scanify.analysis.index.meaning import External

    return External(name)


def _split(values: Sequence[Value], marks: Marks) -> Key:
    count = values[1] if len(values) > 1 else Const(2)
    known = count.value if isinstance(count, Const) and isinstance(count.value, int) else None
    lengths = merged(value.marks for value in values[1:])  # of a number of keys each the lists made of them differ
    return Key(merged([as_keys(marks), raised(lengths, Vary.KEY)]), many=True, count=known, split=True)


def _made_partial(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named, marks: Marks
) -> Value:
    fresh = run.tick() if env.function is not None else 0
    return Partial(positional[0], tuple(positional[1:]), tuple(named.items()), fresh=fresh, marks=marks)


def _transformed(
    run: Interpreter, env: Env, node: ast.AST, name: str, positional: Sequence[Value], named: Named
) -> Value:
    """`jax.vmap(f)`, `jax.checkpoint(f)`: a function that calls `f`; without `f` a decorator."""
    if name in tables.CHECKPOINTS:
        run.effect(Act.CHECKPOINT, env.code(node.func) if isinstance(node, ast.Call) else name, node, env)
    if not positional:
        return Library("builtins.identity") if "fun" not in named else Partial(named["fun"], through=name)
    return Partial(positional[0], through=name, fresh=run.tick(), marks=positional[0].marks)


def _library_module(
    run: Interpreter, env: Env, node: ast.AST, name: str, positional: Sequence[Value], named: Named
) -> Value:
    """An object of a class of `equinox.nn`."""
    fields = library_fields(name, positional, named)
    return Instance(Library(name), fields, True, True, node=node, born=run.tick())


def library_fields(name: str, positional: Sequence[Value], named: Named) -> dict[str, Value]:
    """What stands for the fields of an object of a class of `equinox.nn`: its arguments."""
    fields: dict[str, Value] = {f"argument {at}": value for at, value in enumerate(positional)}
    for keyword, value in named.items():
        number = _is_number(value) and keyword not in tables.RATES
        number = number and "activation" not in keyword and keyword != "key"
        fields[keyword] = _size(value) if number else value
    last = name.rpartition(".")[2]
    for key, value in list(fields.items()):
        if key.startswith("argument") and _is_number(value) and last not in ("Dropout", "Identity"):
            fields[key] = _size(value)
    if last == "Sequential" and positional:
        fields["layers"] = positional[0]
    return fields


def _is_number(value: Value) -> bool:
    return all(isinstance(option, Number | Const | Unknown) for option in options(value))


def _size(value: Value) -> Value:
    """A number that a layer of a library is made with."""
    marks = counted(value)
    return Number(marks) if isinstance(value, Unknown | OneOf) and marks else marked(value, marks)


def _reduce(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value]) -> Value:
    from scanify.analysis.values.calls.calls import call

    unknown_taker(run, env, node, positional[0], positional[1:2])
    loop = run.new_loop()
    element, _ = iterate(run, env, positional[1], loop, node, AN_ELEMENT)
    start = positional[2] if len(positional) > 2 else element
    with run.region(loop):
        made = call(run, env, node, positional[0], [start, element], {})
        value = join([start, call(run, env, node, positional[0], [join([start, made]), element], {})])
    return marked(value, sized(positional[1].marks)) if isinstance(positional[1], Walked) else value


def _other(
    run: Interpreter, env: Env, node: ast.AST, name: str, positional: Sequence[Value], named: Named, marks: Marks
) -> Value:
    from scanify.analysis.values.calls.calls import call, unknown_call

    values = [*positional, *named.values()]
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    code = env.code(node.func) if isinstance(node, ast.Call) else name
    written = [*positional[:1]] if name in tables.CHANGING else []
    for each in (*written, *([named["out"]] if root == "numpy" and "out" in named else ())):
        written_to(run, env, each, node, code)
    known = _of_state(run, env, node, name, positional, values, marks, code)
    if known is not None:
        return known
    if name in tables.CALLBACKS:
        run.effect(Act.CALLBACK, code, node, env)
    elif name.startswith("jax.debug."):
        run.effect(Act.DEBUG, code, node, env)
        return NONE
    elif not _computes_alone(name, named):
        return unknown_call(run, env, node, Library(name), positional, named)
    if hidden := _calls_unknown(run, last, positional):
        run.effect(Act.UNKNOWN, code, node, env)
    if name.startswith(_OF_JAX):
        protocols.note_passed(run, values)
    walks = "tree" in name or name.startswith(("jax.numpy.", "numpy."))
    results: list[Value] = []
    for at, value in enumerate(values):  # a function that is given to a library is called there
        for option in options(value):
            calls = not isinstance(option, Instance) or not walks or (at == 0 and "map" in last)
            if isinstance(option, _CALLABLE) and calls and may_be_called(run, option):
                results.append(call(run, env, node, option, arguments_of(run, option), {}))
            elif isinstance(option, Listed | Mapped):
                run.use(option.cell, Does.READ, node, env, code)
    for option in (option for value in values for option in options(value) if isinstance(option, Instance)):
        run.use_of(option, Does.PASS, node, env, code)
    traced = any(isinstance(option, Array) and not option.numpy for value in values for option in options(value))
    if root == "numpy" and traced and last not in tables.MEASURING:
        run.effect(Act.CONCRETE, env.code(node), node, env)
    if root == "jax" and traced and _is_shaped_by_values(last, values, named):
        run.effect(Act.CONCRETE, env.code(node), node, env)
    if name.startswith(tables.ARRAY_PACKAGES) and last in tables.SIZED:
        asked_of_shape(run, env, node, positional[tables.SIZED[last] :], named)
    same = positional[0] if positional and last in tables.MAY_BE_SAME else None
    born = same.born if isinstance(same, Array) else run.tick()
    data = Data.OPEN if hidden or not name.startswith(_GIVING_DATA) else protocols.data_of(run, [*values, *results])
    given = _given(name, root, last, positional, marks, born, data)
    if not isinstance(given, Array):
        return given
    size, rows = of_function(env, node, last, positional, named), rows_made(last, positional, named)
    shape = merged([given.shape, dtype_marks(last, positional, named), _by_values(last, values, named, marks)])
    dtype = dtype_asked(env, node, last, positional) or kind_of_number(name, positional, named)
    made = last if last in tables.DTYPES else dtype if dtype != COMPLEX else ""
    size = cast(env, node, size, made, positional[1:2], named)
    return replace(given, shape=shape, cast=dtype, size=size, rows=rows)


def _of_state(
    run: Interpreter,
    env: Env,
    node: ast.AST,
    name: str,
    positional: Sequence[Value],
    values: Sequence[Value],
    marks: Marks,
    code: str,
) -> Value | None:
    """What functions give that make an object with a state, log or read and write outside; None for others."""
    from scanify.analysis.values.calls.calls import given_away

    if name == "collections.defaultdict":
        factory = positional[0] if positional else NONE
        return Instance(Library(name), {"default_factory": factory}, True, True, node=node, born=run.tick())
    if name == "logging.getLogger":
        return Instance(Library("logging.Logger"), {}, True, True, node=node)
    if name.startswith((*tables.LOGS, *tables.IMPURE)):
        given_away(run, env, node, values, code, Does.TEXT if name.startswith(tables.WRITES) else Does.PASS)
    if name.startswith(tables.LOGS):
        run.effect(Act.TELLS, code, node, env)
        return NONE
    if name.startswith(tables.IMPURE):
        run.effect(Act.OUTSIDE, code, node, env)
        return Unknown(f"what `{code}(...)` gives is not shown", env.place(node), merged([marks, run.ambient(code)]))
    return None


def _computes_alone(name: str, named: Named) -> bool:
    """Whether a function of a library does nothing but give a value."""
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    known = tables.is_listed(name) or (root == "builtins" and last.endswith(("Error", "Warning")))
    return known and name not in tables.CHANGING and not (root == "numpy" and "out" in named)


def _calls_unknown(run: Interpreter, last: str, positional: Sequence[Value]) -> bool:
    """Whether a function calls an argument of which the source does not show what it is."""
    called = [positional[at] for at in tables.TAKERS_OF_FUNCTIONS.get(last, ()) if at < len(positional)]
    return any(isinstance(option, Unknown) for value in called for option in options(value))


def _is_shaped_by_values(last: str, values: Sequence[Value], named: Named) -> bool:
    """Whether a result is as long as the values of arrays say: `jnp.nonzero(x)`."""
    shaped = last in tables.SHAPED_BY_VALUES or (last == "where" and len(values) == 1)
    return shaped and "size" not in named


def _by_values(last: str, values: Sequence[Value], named: Named, marks: Marks) -> Marks:
    """How the shape of a result differs that is as long as the values of arrays say."""
    return raised(marks, Vary.SHAPE) if _is_shaped_by_values(last, values, named) else ()


def _given(name: str, root: str, last: str, positional: Sequence[Value], marks: Marks, born: int, data: Data) -> Value:
    if name in tables.MANAGERS:
        return Library(name)
    if not tables.is_listed(name):
        return Unknown(f"what `{name}(...)` gives is not shown", marks=marks, born=born)
    if name.startswith(tables.ARRAY_PACKAGES) and last in tables.MEASURING:
        known = merged(shape_of(value) for value in positional)
        return (
            Unknown(f"what `{name}(...)` gives is not shown", marks=known, data=data)
            if last == "shape"
            else Number(known)
        )
    if name.startswith(tables.ARRAY_PACKAGES):
        if name.startswith("jax.lax.") and last in ("scan", "fori_loop", "while_loop", "cond", "switch", "map"):
            return Unknown(f"what `{name}(...)` gives is not shown", marks=marks, data=data)
        shaped = last in tables.SHAPE_OF_ARRAYS or name.startswith("jax.random.")
        filled = _NO_SIZES.get(last, ())
        asked = [
            value for at, value in enumerate(positional) if at not in filled and not isinstance(value, Key | Array)
        ]
        sizes = merged(map(counted, asked))
        others = merged(value.shape for value in positional if isinstance(value, Array))
        return Array(root == "numpy", marks, merged([sizes if shaped else (), others]), born=born)
    if root in ("math", "operator", "cmath"):
        return Number(marks)
    return Unknown(f"what `{name}(...)` gives is not shown", marks=marks, data=data)


# -- builtins --------------------------------------------------------------------------------------------------------
