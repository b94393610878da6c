"""Build layers directly in their stack, one after another."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.jaxpr.reading.calls import children
from scanify.nn.programs.eager import COMPILED, running
from scanify.nn.programs.program import Program, trace
from scanify.nn.trees.in_place import can_be_written, empty, on_one_device, written
from scanify.nn.trees.is_eager import is_eager
from scanify.nn.trees.stack_leaves import stack_columns
from scanify.nn.trees.structs import row_struct

_LARGE = 1 << 20  # bytes of a layer


def build_rows(one: Callable[[Any], Any], given: Any, count: int) -> Any:
    """Return the arrays that `one` returns for each row of the arrays in `given`, stacked.

    It is a scan. For a scan over large layers XLA keeps two layers more than for one layer by itself, so outside of
    transformations such layers are written into the stack by a compiled program for one of them. A single layer is
    built as in a list: a program that creates several arrays at once needs more memory than one after the other.
    """

    arrays, treedef = jax.tree.flatten(given)
    if not is_eager() or any(isinstance(array, jax.core.Tracer) for array in arrays):
        return jax.lax.scan(lambda carry, row: (carry, one(row)), None, given, length=count)[1]
    if count == 1:
        leaves, outer = jax.tree.flatten(one(jax.tree.unflatten(treedef, [array[0] for array in arrays])))
        columns = [[jnp.asarray(leaf)] for leaf in leaves]
        leaves.clear()  # lets go of them, so that stacking frees them
        return jax.tree.unflatten(outer, stack_columns(columns))
    program = trace(lambda row: one(jax.tree.unflatten(treedef, row)), list(map(row_struct, arrays)), derivatives=False)
    captured = [program.consts[at] for at in program.captured]
    computed = [array for array in (*arrays, *captured) if hasattr(array, "sharding")]  # numpy arrays have none
    if not _is_large(program) or _placed(program.jaxpr) or not on_one_device(computed):
        return program.result(COMPILED.of(program, _scanning)(count, arrays, captured))
    stack = [empty(count, out) for out in program.outs]
    put = COMPILED.of(program, _putting)
    for at in range(count):
        stack = put(stack, np.int32(at), arrays, captured)
    return program.result(stack)


def _is_large(program: Program) -> bool:
    """True if a layer takes much memory, all of it in arrays that can be written into a stack."""
    size = sum(out.size * out.dtype.itemsize for out in program.outs)
    return all(map(can_be_written, program.outs)) and size > _LARGE


def _scanning(program: Program) -> Any:
    run = running(program)

    def scan(count: int, arrays: list[Any], captured: list[Any]) -> list[Any]:
        return list(jax.lax.scan(lambda carry, row: (carry, run(row, captured)), None, arrays, length=count)[1])

    return jax.jit(scan, static_argnums=0)


def _putting(program: Program) -> Any:
    run = running(program)

    def put(stack: list[Any], at: Any, arrays: list[Any], captured: list[Any]) -> list[Any]:
        rows = [jax.lax.dynamic_index_in_dim(array, at, keepdims=False) for array in arrays]
        outs = run(rows, captured)
        return [written(whole, at, out) for whole, out in zip(stack, outs, strict=True)]

    return jax.jit(put, donate_argnums=0)


def _placed(jaxpr: Any) -> bool:
    """True if a program specifies where values are computed or stored."""
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if "shard" in name or name in _PLACES:
            return True
        if name == "device_put" and any(device is not None for device in equation.params["devices"]):
            return True
        if any(_placed(getattr(child, "jaxpr", child)) for child in children(equation)):
            return True
    return False


_PLACES = frozenset(("reshard", "mesh_cast", "pvary"))
