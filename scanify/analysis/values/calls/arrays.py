"""Arrays: what operations on them give, and where Python asks for their values."""

import ast
from collections.abc import Iterable, Mapping, Sequence

from scanify.analysis.values import tables
from scanify.analysis.values.calls.resizing import combined
from scanify.analysis.values.domain import Array, Const, Instance, Key, Listed, Number, Unknown, Value, options, sized
from scanify.analysis.values.marks import Marks, merged
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def of_arrays(values: Sequence[Value], marks: Marks) -> Array:
    """What an operation on arrays and numbers gives: an array of numpy where no side may be a tracer."""
    arrays = [value for value in values if isinstance(value, Array)]
    plain = all(isinstance(value, Number | Const) or (isinstance(value, Array) and value.numpy) for value in values)
    born = min((one.born for one in arrays), default=0)
    shape, size = merged(one.shape for one in arrays), combined(arrays)
    return Array(plain, marks, shape, born=born, cast=_cast_of(values, arrays), size=size)


def written(run: Interpreter, env: Env, node: ast.AST, values: Iterable[Value]) -> None:
    """Note that a string is made of an array, or of a module: in a scan it would say that it is a tracer."""
    for option in (option for value in values for option in options(value)):
        array = isinstance(option, Key) or (isinstance(option, Array) and not option.numpy)
        if array or (isinstance(option, Instance) and run.classes.is_module(option.cls)):
            run.effect(Act.TEXT, env.code(node), node, env)
            return
        if isinstance(option, Unknown) and option.marks:
            run.effect(Act.TEXT, env.code(node), node, env, marks=option.marks)


def concrete(run: Interpreter, env: Env, node: ast.AST, value: Value) -> None:
    """Note that Python asks for the value of an array; one of numpy that was made on the way has it even in a scan."""
    if isinstance(value, Array):
        run.effect(Act.CONCRETE, env.code(node), node, env, born=value.born if value.numpy else 0)


def bound(run: Interpreter, env: Env, node: ast.AST, value: Value) -> None:
    """Note that an array says how long something is, in a slice or in a shape; one of numpy may, where it stays one."""
    if isinstance(value, Array) and not value.numpy:
        run.effect(Act.CONCRETE, env.code(node), node, env)


def asked_of_shape(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Mapping[str, Value]
) -> None:
    """Note that a shape is made of the value of an array: `jnp.zeros(self.width)`, `x.reshape(self.shape[0], -1)`."""
    for value in (*positional, *(named[each] for each in ("shape", "newshape") if each in named)):
        for option in options(value):
            bound(run, env, node, option)
            for group in option.cell.groups if isinstance(option, Listed) and option.cell.is_tuple else ():
                bound(run, env, node, group.element)


def picked_by(run: Interpreter, env: Env, node: ast.AST, index: Value) -> None:
    """Note that a comparison of arrays picks elements, as many as it is true for: `x[x > 0]`."""
    parts = [group.element for group in index.cell.groups] if isinstance(index, Listed) else [index]
    if any(isinstance(each, Array) and each.cast == MASK and not each.numpy for each in parts):
        run.effect(Act.CONCRETE, env.code(node), node, env)


_INTEGERS = frozenset("argmax argmin argsort argwhere count_nonzero digitize searchsorted randint bincount".split())
_DTYPE_SECOND = frozenset(
    "zeros ones empty array asarray astype zeros_like ones_like empty_like convert_element_type".split()
)


WEAK = "a Python number"  # of an array whose dtype gives way to that of what it is computed with
COMPLEX = "complex"
MASK = "a comparison"  # of an array of bools, which as an index says how long the result is
_KEEPS_WEAK = frozenset(
    """abs absolute add array asarray clip cos cosh divide exp exp2 expm1 log log10 log1p log2 logaddexp maximum minimum
    multiply negative power reciprocal sigmoid sign sin sinh softplus sqrt square subtract tan tanh where""".split()
)
_MAKES_COMPLEX = frozenset("fft ifft fft2 ifft2 fftn ifftn rfft rfft2 rfftn ihfft complex complex64 complex128".split())
_COMPARES = frozenset(
    """equal not_equal greater greater_equal less less_equal isclose isfinite isinf isnan logical_and logical_or
    logical_not logical_xor isin""".split()
)
_MAKES_REAL = frozenset(
    """abs absolute all any angle argmax argmin argsort equal greater imag irfft irfft2 irfftn hfft isclose isfinite
    isinf isnan less not_equal real shape size ndim greater_equal less_equal logical_and logical_or logical_not
    iscomplexobj""".split()
)


def kind_of_number(name: str, positional: Sequence[Value], named: Mapping[str, Value]) -> str:
    """`WEAK` or `COMPLEX` for what a function of jax makes of such arrays and numbers alone, `MASK` for what compares,
    "" for all else."""
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    values = [*positional, *named.values()]
    if last in _COMPARES and root == "jax":
        return MASK
    if last in _MAKES_COMPLEX:
        return COMPLEX
    if last not in _MAKES_REAL and any(map(is_complex, values)):
        return COMPLEX
    full = last == "full" and len(positional) == 2 and _is_weak(positional[1])
    weak = last in _KEEPS_WEAK and bool(values) and all(map(_is_weak, values))
    return WEAK if root == "jax" and (full or weak) else ""


def _is_weak(value: Value) -> bool:
    number = isinstance(value, Const) and isinstance(value.value, bool | int | float)
    return number or isinstance(value, Number) or (isinstance(value, Array) and value.cast == WEAK)


def is_complex(value: Value) -> bool:
    """Whether a value is shown to be complex: a number, or an array of such."""
    number = isinstance(value, Const) and isinstance(value.value, complex)
    return number or (isinstance(value, Array) and "complex" in value.cast)


def dtype_asked(env: Env, node: ast.AST, last: str, positional: Sequence[Value]) -> str:
    """The dtype that a call of a library asks for, as written; that of integers where it can give nothing else."""
    if not isinstance(node, ast.Call):
        return ""
    named = next((keyword.value for keyword in node.keywords if keyword.arg == "dtype"), None)
    if named is None and last in _DTYPE_SECOND and len(node.args) > 1:
        named = node.args[1]
    if named is not None:
        return env.code(named)
    # `arange(n)` counts: a number that is no literal is a length.
    whole = all(type(value.value) is int if isinstance(value, Const) else len(positional) == 1 for value in positional)
    if last in _INTEGERS or (last == "arange" and positional and whole):
        return "int"
    filled = positional[int(last == "full") :][:1] if last in ("array", "asarray", "full") else ()
    if any(isinstance(value, Const) and isinstance(value.value, int) for value in filled):
        return "int"
    return last if last in tables.DTYPES and last != "float32" else ""


def dtype_marks(last: str, positional: Sequence[Value], named: Mapping[str, Value]) -> Marks:
    """How the dtype that a call asks for differs: arrays of several are no more alike than those of several shapes."""
    asked = named.get("dtype", positional[1] if last in _DTYPE_SECOND and len(positional) > 1 else None)
    return tuple(replace(mark, dtype=True) for mark in sized(asked.marks)) if asked is not None else ()


def _cast_of(values: Sequence[Value], arrays: Sequence[Array]) -> str:
    """The dtype that an operation keeps: that of all its arrays, where the numbers beside them do not raise it."""
    if any(map(is_complex, values)):
        return COMPLEX
    casts = {array.cast for array in arrays}
    others = [value for value in values if not isinstance(value, Array)]
    if len(casts) != 1 or not all(isinstance(value, Const | Number) for value in others):
        return ""
    cast = casts.pop()
    fraction = any(not isinstance(value, Const) or isinstance(value.value, float) for value in others)
    return "" if fraction and "int" in cast else cast


def draws(node: ast.AST, given: Sequence[Value]) -> bool:
    """Whether a call of a method gives other random numbers each time: one that is given no key for them."""
    method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in tables.DRAWS
    return method and not any(isinstance(each, Key) for each in given)


def draws_array(node: ast.AST) -> bool:
    """Whether random numbers are asked for as an array: `rng.normal(size=(d, d))`."""
    if not isinstance(node, ast.Call):
        return False
    shaped = any(each.arg == "size" for each in node.keywords) or any(isinstance(each, ast.Tuple) for each in node.args)
    return shaped or (isinstance(node.func, ast.Attribute) and node.func.attr in ("permutation", "permuted"))
