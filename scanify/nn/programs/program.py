"""One layer as traced for a call, and its key: programs with equal keys can be the body of one scan."""

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

    `treedef` is the structure of its result, `static` has the leaves that are not arrays, with a marker in place of the
    arrays; `outs` are the arrays as `jax.ShapeDtypeStruct`s. Its key is computed on demand: for many programs one after
    another, which is faster than in between their traces.
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
        """Return a key, equal for two programs only if they are the same up to the values of `constants` and captured
        arrays."""
        return self._read.key

    @property
    def constants(self) -> tuple[Constant, ...]:
        """Return the numbers that are scalar operands in the program."""
        return self._read.constants

    @property
    def captured(self) -> tuple[int, ...]:
        """Return the indices of `consts` that are captured arrays."""
        return self._read.captured

    def result(self, arrays: Sequence[Any]) -> Any:
        """Build the result of the layer from its arrays."""
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
    """Trace `fn` on shapes and dtypes; Python numbers in its result become weak-typed arrays, as in a scan.

    Without `derivatives` the key ignores differences in derivative rules. `names` returns names for the arrays, for
    jax's errors: then `fn` is traced once more.
    """
    found: list[Any] = []

    def flat(*arrays: Any) -> list[Any]:
        out, static = split(fn(arrays))
        leaves, treedef = jax.tree.flatten(out, is_leaf=lambda leaf: leaf is None)
        others = treedef.flatten_up_to(static)
        # If both are None, the layer itself returned None.
        found[:] = [treedef, tuple(o if leaf is None else _ARRAY for leaf, o in zip(leaves, others, strict=True))]
        return [leaf for leaf in leaves if is_array(leaf)]

    traced = None
    try:
        traced = jaxpr_of(flat, arrays)
    except jax.errors.JAXTypeError:  # a value is not known; the error names the arguments on which it depends
        if names is None:
            raise
    jaxpr, consts, avals = traced or jaxpr_of(flat, arrays, names and names())
    outs = tuple(struct(aval) for aval in avals)
    return Program(jaxpr, consts, outs, found[0], found[1], derivatives, known)
