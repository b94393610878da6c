"""What a node of a table means, by computing it: `lax` for our own operations, the primitive itself for all others.

So each rule can be held against jax: a program is numbered, its outputs' nodes are computed, and must give what the
program gives, bit for bit.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.primitives import EACH
from scanify.jaxpr.rules.rows import ALONG, KEYED, REDUCTIONS
from scanify.jaxpr.table import Table

# The parameters of the equations that were read, by what is kept of them in nodes.
READ: dict[Any, dict[str, Any]] = {}
LINED = ("axes", "axis", "dimension", "dimension_numbers", "preferred_element_type")


class _Recording(Numbering):
    def parameters(self, equation: Any) -> Any:
        key: Any = super().parameters(equation)
        name = equation.primitive.name
        READ[name, key] = READ[name, tuple(each for each in key if each[0] not in LINED)] = equation
        return key


def meaning(table: Table, node: int, known: dict[int, Any]) -> Any:
    """The value of a node; `known` has those of the inputs. Nodes of several outputs give a list."""
    if node not in known:
        values = [meaning(table, below, known) for below in table.inputs[node]]
        known[node] = _made(table.op[node])(table, node, values)
    return known[node]


def _made(op: str) -> Callable[[Table, int, list[Any]], Any]:
    if op in EACH:
        return _each
    return OWN.get(op, _bound)


def _bind(equation: Any, values: list[Any], **params: Any) -> Any:
    return equation.primitive.bind(*values, **equation.primitive.get_bind_params({**equation.params, **params}))


def _each(table: Table, node: int, values: list[Any]) -> Any:
    return _bind(READ[table.op[node], table.params[node]], values)


def _lined(axes: list[int], value: Any) -> list[int]:
    """The axes of an operand: those along lines in their order, then all others."""
    return [*axes, *(axis for axis in range(value.ndim) if axis not in axes)]


def _reduced(table: Table, node: int, values: list[Any]) -> Any:
    lines, key, _ = table.params[node]  # type: ignore[misc]
    (value,), axes = values, [axis for (axis,) in lines]
    turned = lax.transpose(value, _lined(axes, value))
    return _bind(READ[table.op[node], key], [turned], axes=tuple(range(len(axes), value.ndim)))


def _along(table: Table, node: int, values: list[Any]) -> Any:
    lines, key, _ = table.params[node]  # type: ignore[misc]
    place = next(i for i, line in enumerate(lines) if isinstance(line, int))
    turned = []
    for index, value in enumerate(values):
        axes = [line[index] for line in lines if not isinstance(line, int)]
        (along,) = _lined(axes, value)[len(axes) :]
        turned.append(lax.transpose(value, [*axes[:place], along, *axes[place:]]))
    name = "dimension" if table.op[node] == "sort" else "axis"
    return _bind(READ[table.op[node], key], turned, **{name: place})


def _keyed(table: Table, node: int, values: list[Any]) -> Any:
    lines, key, _ = table.params[node]  # type: ignore[misc]
    axes = [[line[i] for line in lines if not isinstance(line, int)] for i in range(len(values))]
    turned = [jnp.transpose(value, _lined(each, value)) for value, each in zip(values, axes, strict=True)]
    return _bind(READ[table.op[node], key], turned)


def _product(table: Table, node: int, values: list[Any]) -> Any:
    lines, (order, _, key), _ = table.params[node]  # type: ignore[misc]
    both = [line for line in lines if min(line) >= 0]
    free = [[line for line in lines if line[1 - side] < 0] for side in (0, 1)]
    used = [[line[side] for line in (*both, *free[side])] for side in (0, 1)]
    rest = [_lined(used[side], values[side])[len(used[side]) :] for side in (0, 1)]
    contracted = (tuple(rest[0]), tuple(rest[1][at] for at in order))
    batched = (tuple(line[0] for line in both), tuple(line[1] for line in both))
    # The free axes of an operand come in the order that they have there.
    free = [sorted(lines, key=lambda line, side=side: line[side]) for side, lines in enumerate(free)]
    numbers, dtype = (contracted, batched), table.dtype[node]
    found = _bind(READ["dot_general", key], values, dimension_numbers=numbers, preferred_element_type=dtype)
    made = [*both, *free[0], *free[1]]
    return lax.transpose(found, [made.index(line) for line in lines])


def _bound(table: Table, node: int, values: list[Any]) -> Any:
    place = table.made[node]
    assert place is not None, table.op[node]
    equation = place.equation
    assert table.op[node].rstrip("*") == equation.primitive.name
    return equation.primitive.bind(*values, **equation.primitive.get_bind_params(equation.params))


def _sum(table: Table, node: int, values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = lax.add(total, value)
    return total


OWN: dict[str, Callable[[Table, int, list[Any]], Any]] = {
    "fill": lambda table, node, _: jnp.full(table.shape[node], table.fill_value(node)),
    "const": lambda table, node, _: jnp.asarray(table.arrays[node]),
    "reshape": lambda table, node, values: lax.reshape(values[0], table.shape[node]),
    "slice": lambda table, node, values: lax.slice(values[0], *zip(*_tuple(table, node), strict=True)),
    "transpose": lambda table, node, values: lax.transpose(values[0], _tuple(table, node)),
    "broadcast": lambda table, node, values: lax.broadcast_in_dim(values[0], table.shape[node], _tuple(table, node)),
    "concat": lambda table, node, values: lax.concatenate(values, table.params[node]),  # type: ignore[arg-type]
    "rev": lambda table, node, values: lax.rev(values[0], _tuple(table, node)),
    "convert_element_type": lambda table, node, values: lax.convert_element_type(values[0], table.dtype[node]),
    "cond": lambda table, node, values: lax.switch(values[0], [lambda x=value: x for value in values[1:]]),
    "add_any": _sum,
    "out": lambda table, node, values: values[0][table.params[node]],
    "dot_general": _product,
    **dict.fromkeys(REDUCTIONS, _reduced),
    **dict.fromkeys(ALONG, _along),
    **dict.fromkeys(KEYED, _keyed),
}


def _tuple(table: Table, node: int) -> Any:
    assert isinstance(table.params[node], tuple)
    return table.params[node]


def as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled without XLA's algebraic simplifications, for which 0.0 + -0.0 is -0.0."""
    return jax.jit(
        function, compiler_options={"xla_disable_hlo_passes": "algsimp", "xla_backend_optimization_level": "0"}
    )


def numbered(function: Callable[..., Any], arguments: Sequence[Any], *, cotangents: range = range(0)) -> list[Any]:
    """What the nodes of a traced function's outputs mean on these arguments."""
    traced = jax.make_jaxpr(function)(*arguments)
    table = Table()
    inputs = [table.node("input", i, (), aval.shape, aval.dtype) for i, aval in enumerate(traced.in_avals)]
    outputs = _Recording(table, cotangents=cotangents).run(traced.jaxpr, traced.consts, inputs)

    def compute(*given: Any) -> list[Any]:
        known = dict(zip(inputs, given, strict=True))
        return [meaning(table, output, known) for output in outputs]

    found = as_written(compute)(*arguments)
    for output, value, aval in zip(outputs, found, traced.out_avals, strict=True):
        assert (table.shape[output], table.dtype[output]) == (aval.shape, aval.dtype)
        assert (value.shape, value.dtype) == (aval.shape, aval.dtype), (table.op[output], value.dtype, aval)
    return list(found)


def same(one: Any, other: Any) -> bool:
    """Bit for bit, but for the bits of a NaN; and for the sign of a zero in bfloat16, which XLA loses in sums."""
    one, other = np.asarray(one), np.asarray(other)
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    if one.dtype.kind == "c":
        return same(one.real.copy(), other.real.copy()) and same(one.imag.copy(), other.imag.copy())
    if one.dtype.kind in "biu":
        return one.tobytes() == other.tobytes()
    if one.dtype == jnp.bfloat16:
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)
    numbers = one == one
    return bool(
        np.array_equal(numbers, other == other)
        and np.where(numbers, one, 0).tobytes() == np.where(numbers, other, 0).tobytes()
    )
