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
from scanify.jaxpr.table import Table


def meaning(table: Table, node: int, known: dict[int, Any]) -> Any:
    """The value of a node; `known` has those of the inputs. Nodes of several outputs give a list."""
    if node not in known:
        values = [meaning(table, below, known) for below in table.inputs[node]]
        own = OWN.get(table.op[node])
        known[node] = _bound(table, node, values) if own is None else own(table, node, values)
    return known[node]


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
    outputs = Numbering(table, cotangents=cotangents).run(traced.jaxpr, traced.consts, inputs)

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
