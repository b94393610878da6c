"""One layer as it is traced for a call, and what two of them must have in common to be the body of one scan."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax

from scanify.nn.programs.jaxpr_of import jaxpr_of
from scanify.nn.programs.skeleton import Constant, Known, Skeleton, skeleton
from scanify.nn.scans.carry import split
from scanify.nn.trees.leaves import is_array
from scanify.nn.trees.structs import struct


@dataclass(frozen=True, eq=False)
class Program:
    """A traced layer, a function of flat lists of arrays.

    `treedef` is that of what the layer gives, `static` has its leaves that are no arrays, with None in the places of
    the arrays; `outs` are the arrays as `jax.ShapeDtypeStruct`s. It is read for its key when that is asked for: many
    programs one after another, which is faster than in between their traces.
    """

    jaxpr: Any
    consts: tuple[Any, ...]
    outs: tuple[jax.ShapeDtypeStruct, ...]
    treedef: Any
    static: tuple[Any, ...]
    derivatives: bool
    known: Known | None

    @cached_property
    def _read(self) -> Skeleton:
        return skeleton(self.jaxpr, self.consts, derivatives=self.derivatives, known=self.known)

    @property
    def key(self) -> Hashable:
        """Equal for two programs only if they are the same but for the values of `constants`, and for the arrays that
        they close over."""
        return self._read.key

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The numbers that stand in the program as scalar operands."""
        return self._read.constants

    @property
    def captured(self) -> tuple[int, ...]:
        """Which of `consts` are arrays that the program closes over."""
        return self._read.captured

    def result(self, arrays: Sequence[Any]) -> Any:
        """The pytree that the layer gives, of its arrays."""
        waiting = iter(arrays)
        return jax.tree.unflatten(self.treedef, [next(waiting) if leaf is _ARRAY else leaf for leaf in self.static])


_ARRAY = object()


def trace(
    fn: Callable[[Sequence[Any]], Any],
    arrays: Sequence[Any],
    *,
    derivatives: bool = True,
    known: Known | None = None,
    names: Callable[[], Sequence[str]] | None = None,
) -> Program:
    """Trace `fn` on shapes and dtypes; Python numbers among what it gives become weak-typed arrays, as in a scan.

    Without `derivatives` the key is equal for programs that differ in those alone. `names` gives names for the arrays,
    which are asked for where an error speaks of them: then `fn` is traced once more.
    """
    found: list[Any] = []

    def flat(*arrays: Any) -> list[Any]:
        out, static = split(fn(arrays))
        leaves, treedef = jax.tree.flatten(out, is_leaf=lambda leaf: leaf is None)
        others = treedef.flatten_up_to(static)
        # A None on both sides is a None of the layer itself.
        found[:] = [treedef, tuple(o if leaf is None else _ARRAY for leaf, o in zip(leaves, others, strict=True))]
        return [leaf for leaf in leaves if is_array(leaf)]

    traced = None
    try:
        traced = jaxpr_of(flat, arrays)
    except jax.errors.JAXTypeError:  # of a value that is not known, and the arguments on which it depends
        if names is None:
            raise
    jaxpr, consts, avals = traced or jaxpr_of(flat, arrays, names and names())
    outs = tuple(struct(aval) for aval in avals)
    return Program(jaxpr, consts, outs, found[0], found[1], derivatives, known)
