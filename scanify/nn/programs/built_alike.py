"""Check that a constructor builds equal layers from equal arguments, so that one trace represents all layers."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import equinox as eqx
import jax
import numpy as np

from scanify.nn.programs.program import Program, trace
from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.leaves import is_array, path_text
from scanify.nn.trees.structs import row_struct


def refuse_built_unlike(make: Callable[[Any], Any], given: Any) -> None:
    """Trace a constructor twice, on the shapes of one row of `given`.

    Raises ValueError if the second layer differs from the first in anything that is not an array, or in its computation
    or constants: a counter, a random number of the process. A loop gives each layer its own.
    """
    arrays, treedef = jax.tree.flatten(given)
    others: list[Any] = []

    def one(row: Any) -> list[Any]:
        made, other = eqx.partition(make(jax.tree.unflatten(treedef, row)), is_array)
        others.append(other)
        leaves: list[Any] = jax.tree.leaves(made)
        return leaves

    first, second = (trace(one, [row_struct(array) for array in arrays], derivatives=False) for _ in range(2))
    difference = first_difference(*(jax.tree.map(_as_code, other) for other in (others[0], others[-1])))
    if difference is not None:
        what = f"at {path_text(difference.path)}: {difference}"
    elif first.key != second.key:
        what = "in what is computed"
    elif not _same_constants(first, second):
        what = "in the constants that their arrays are computed from"
    else:
        return
    raise ValueError(
        f"expected a constructor that makes the same layer of the same arguments each time; two layers differ {what}. "
        "All layers are built in one trace, so each would get the value of the first: give it as an argument with an "
        "entry for each layer, or build a list of layers and stack it, `ArrayStacked.of(layers)`"
    )


def _as_code(leaf: Any) -> Any:
    """Represent a function that a constructor creates by its code: in a loop, each layer has its own function."""
    if not isinstance(leaf, FunctionType):
        return leaf
    try:
        cells = tuple(_as_code(cell.cell_contents) for cell in leaf.__closure__ or ())
    except ValueError:  # a name that is bound later
        return leaf
    return leaf.__code__, leaf.__defaults__, leaf.__kwdefaults__, cells


def _same_constants(first: Program, second: Program) -> bool:
    if [each.bits for each in first.constants] != [each.bits for each in second.constants]:
        return False
    pairs = zip(first.captured, second.captured, strict=True)
    return all(_same_array(first.consts[mine], second.consts[theirs]) for mine, theirs in pairs)


def _same_array(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, jax.core.Tracer) or isinstance(other, jax.core.Tracer):
        return False
    if jax.dtypes.issubdtype(one.dtype, jax.dtypes.prng_key):
        one, other = jax.random.key_data(one), jax.random.key_data(other)
    return bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=np.dtype(one.dtype).kind in "fc"))
