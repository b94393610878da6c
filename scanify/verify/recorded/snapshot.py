"""The values at the entry of a function: arrays are copied, tracers become abstract values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.verify.cases.case import CaseError
from scanify.verify.values.arrays import is_key, show_aval, struct


@dataclass(frozen=True, eq=False)
class Array:
    """An array leaf: its aval, and its values (the key data of typed keys); None for a tracer, which has no values.

    `numpy` is true for a NumPy array.
    """

    aval: jax.ShapeDtypeStruct
    values: np.ndarray[Any, Any] | None = None
    numpy: bool = False


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A pytree with an `Array` in place of each array; containers are copied, other leaves are kept."""

    leaves: tuple[Any, ...]
    treedef: Any

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, Array))

    @property
    def traced(self) -> bool:
        """Return True if one of its arrays was a tracer."""
        return any(array.values is None for array in self.arrays)

    def form(self) -> tuple[Any, ...]:
        """Return structure, avals and the types of other leaves: the properties that calls of one kind share."""
        kinds = tuple(
            (x.aval.shape, str(x.aval.dtype), x.aval.weak_type) if isinstance(x, Array) else _plain(x)
            for x in self.leaves
        )
        return self.treedef, kinds

    def tree(self) -> Any:
        """Return the pytree with an `Array` for each array."""
        return jax.tree.unflatten(self.treedef, self.leaves)

    def restored(self, seed: int = 0, *, drawn: Sequence[bool] = (), lead: tuple[int, ...] = ()) -> Any:
        """Return the pytree with jax arrays. Values of tracers and of `drawn` arrays are drawn from `seed`.

        The latter get axes of the sizes `lead` in front.
        """
        draws = iter(drawn or [False] * len(self.arrays))
        leaves = [
            _restored(leaf, seed + at, lead if next(draws) else None) if isinstance(leaf, Array) else leaf
            for at, leaf in enumerate(self.leaves)
        ]
        return jax.tree.unflatten(self.treedef, leaves)

    def where(self, drawn: Sequence[bool]) -> Any:
        """Return the pytree with True for each array that is `drawn`, and False for every other leaf."""
        draws = iter(drawn)
        return jax.tree.unflatten(self.treedef, [isinstance(leaf, Array) and next(draws) for leaf in self.leaves])


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else type(value).__qualname__


def snapshot(tree: Any) -> Snapshot:
    """Record the current values of a pytree; it works under any transformation."""
    leaves, treedef = jax.tree.flatten(tree)
    with jax.ensure_compile_time_eval():
        return Snapshot(tuple(map(_taken, leaves)), treedef)


def _taken(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return Array(struct(leaf), leaf.copy(), numpy=True) if leaf.dtype != object else leaf
    if not isinstance(leaf, jax.Array):
        return leaf
    if isinstance(leaf, jax.core.Tracer):
        return Array(struct(leaf))
    data = jax.random.key_data(leaf) if is_key(leaf) else leaf
    return Array(struct(leaf), np.array(data, copy=True))


def _restored(array: Array, seed: int, lead: tuple[int, ...] | None) -> Any:
    """Return an array as recorded, or drawn from `seed` with axes `lead` in front, if that is not None."""
    values = array.values if lead is None else None
    aval = jax.ShapeDtypeStruct((*(lead or ()), *array.aval.shape), array.aval.dtype, weak_type=array.aval.weak_type)
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        name = str(aval.dtype._impl.name)
        if values is None:
            keys = jax.random.split(jax.random.key(seed, impl=name), max(1, int(np.prod(aval.shape))))
            return keys.reshape(aval.shape)
        return jax.random.wrap_key_data(jnp.asarray(values), impl=name)
    if values is None:
        values = _drawn(aval, seed)
    if array.numpy:
        return values
    if aval.weak_type and not aval.shape:
        return jnp.asarray(values.item())
    made = jnp.asarray(values, aval.dtype)
    if made.dtype != aval.dtype:
        raise CaseError(
            f"expected {show_aval(aval)}, as the run has it, and got {show_aval(made)} outside of it: the run sets "
            "jax_enable_x64 for a part of itself; set it for all of it"
        )
    return made


def _drawn(aval: jax.ShapeDtypeStruct, seed: int) -> np.ndarray[Any, Any]:
    """Draw values for a tracer: floats around zero, integers 0 and 1, which are indices into most axes."""
    draw = np.random.default_rng(seed)
    if jnp.issubdtype(aval.dtype, jnp.inexact):
        return np.asarray(draw.normal(size=aval.shape) * 0.1).astype(aval.dtype)
    values: np.ndarray[Any, Any] = draw.integers(0, 2, size=aval.shape).astype(aval.dtype)
    return values
