"""One layer as it is traced for a call, and what two of them must have in common to be the body of one scan."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from scanify.nn.carry import split
from scanify.nn.leaves import is_array
from scanify.nn.skeleton import Constant, skeleton


@dataclass(frozen=True, eq=False)
class Program:
    """A traced layer, a function of flat lists of arrays.

    `key` is equal for two programs only if they are the same but for the values of `constants`, numbers that stand in
    the program as scalar operands, and for the arrays that it closes over, `consts[at] for at in captured`. `treedef`
    is that of what the layer gives, `static` has its leaves that are no arrays, with None in the places of the arrays;
    `outs` are the arrays as `jax.ShapeDtypeStruct`s.
    """

    jaxpr: Any
    consts: tuple[Any, ...]
    key: Hashable
    constants: tuple[Constant, ...]
    captured: tuple[int, ...]
    outs: tuple[jax.ShapeDtypeStruct, ...]
    treedef: Any
    static: tuple[Any, ...]

    def result(self, arrays: Sequence[Any]) -> Any:
        """The pytree that the layer gives, of its arrays."""
        waiting = iter(arrays)
        return jax.tree.unflatten(self.treedef, [next(waiting) if leaf is _ARRAY else leaf for leaf in self.static])


_ARRAY = object()


def trace(fn: Callable[[Sequence[Any]], Any], arrays: Sequence[Any]) -> Program:
    """Trace `fn` on shapes and dtypes; Python numbers among what it gives become weak-typed arrays, as in a scan."""
    found: list[Any] = []

    def flat(*arrays: Any) -> list[Any]:
        out, static = split(fn(arrays))
        leaves, treedef = jax.tree.flatten(out, is_leaf=lambda leaf: leaf is None)
        others = treedef.flatten_up_to(static)
        # A None on both sides is a None of the layer itself.
        found[:] = [treedef, tuple(o if leaf is None else _ARRAY for leaf, o in zip(leaves, others, strict=True))]
        return [leaf for leaf in leaves if is_array(leaf)]

    closed = jax.make_jaxpr(flat)(*arrays)
    consts = tuple(closed.consts)
    bones = skeleton(closed.jaxpr, consts)
    outs = tuple(struct(aval) for aval in closed.out_avals)
    return Program(closed.jaxpr, consts, bones.key, bones.constants, bones.captured, outs, found[0], found[1])


def struct(value: Any) -> jax.ShapeDtypeStruct:
    """Shape, dtype, weak type and what a mesh adds to them, of an array or an aval."""
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    aval = jax.typeof(value) if is_array(value) else value
    sharding = getattr(aval, "sharding", None)
    if sharding is not None and sharding.mesh.empty:
        sharding = None
    vma = getattr(aval, "vma", None) or None
    weak = bool(getattr(aval, "weak_type", False))
    if vma is not None:
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak, sharding=sharding, vma=vma)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak, sharding=sharding)
