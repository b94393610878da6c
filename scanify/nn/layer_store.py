"""How a `BlockSeq` stores its layers: arrays of equal shapes are stacked, everything else is stored by layer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import numpy as np

from scanify.nn.trees.has_layers import is_stack, level_above
from scanify.nn.trees.leaves import aval, aval_text, has_aval, is_numpy, path_text
from scanify.nn.trees.named_arrays import NamedArrays
from scanify.nn.trees.rows import refuse_wrapped, rows
from scanify.nn.trees.stack_leaves import stack_columns, stack_leaves


@jax.tree_util.register_static
@dataclass(frozen=True)
class Hole:
    """Marks a leaf of a layer whose array is in a stack of the sequence with this level; levels distinguish nested
    sequences."""

    level: int


@dataclass(frozen=True)
class Place:
    """The place of a layer's arrays: entry `row` of each array of stack `stack`, which has `arrays` arrays."""

    stack: int
    row: int
    arrays: int


class Places(tuple[Place, ...]):
    """The place of the arrays of each layer."""

    @cached_property
    def sizes(self) -> dict[int, int]:
        """Return the number of layers of each stack."""
        found: dict[int, int] = {}
        for place in self:
            found[place.stack] = max(found.get(place.stack, 0), place.row + 1)
        return found


@dataclass(frozen=True)
class Store:
    """The parts of a sequence of layers.

    `stacks`: the arrays by name, with a leading axis. `rests`: the layers, with holes for those arrays. `places`: one
    for each of `rests`. `order`: the index into `rests` for each position.
    """

    stacks: tuple[Any, ...]
    rests: tuple[Any, ...]
    places: Places
    order: tuple[int, ...]
    level: int


def store(layers: list[Any]) -> Store:
    """Split layers into stacked arrays and rests. Each position has arrays of its own, as in the pytree of a list:
    layers that share one diverge at the first update. The list is emptied, so that layers without other references are
    freed once they are stacked.

    Raises TypeError if an element is neither a module, nor a tuple, list or dict of modules, nor a function, nor None.
    """
    _refuse_others(layers)
    level = level_above(jax.tree.leaves(layers, is_leaf=is_stack))
    groups: dict[Any, list[int]] = {}
    for index, layer in enumerate(layers):
        groups.setdefault(_signature(layer), []).append(index)
    places: dict[int, Place] = {}
    taken = []
    for number, members in enumerate(groups.values()):
        paths = [path for path, leaf in _flat(layers[members[0]]) if has_aval(leaf)]
        taken.append((paths, [list(column) for column in zip(*(_arrays(layers[at]) for at in members), strict=True)]))
        places |= {at: Place(number, row, len(paths)) for row, at in enumerate(members)}
    rests = tuple(_with_holes(layer, level) for layer in layers)
    layers.clear()
    stacks = [NamedArrays.of(paths, stack_columns(columns)) for paths, columns in taken]
    order = tuple(range(len(rests)))
    return Store(tuple(stacks), rests, Places(places[at] for at in order), order, level)


def _refuse_others(layers: Sequence[Any]) -> None:
    for index, layer in enumerate(layers):
        known = layer is None or isinstance(layer, eqx.Module | tuple | list | dict)
        if not known and (has_aval(layer) or not callable(layer)):
            name = f"{type(layer).__module__}.{type(layer).__qualname__}"
            raise TypeError(
                "expected layers that are equinox.Modules, functions, None, or tuples, lists and dicts of such; "
                f"layer {index} is of type {name}"
            )


def fill(rest: Any, arrays: Sequence[Any], level: int, other: Callable[[Any], Any] | None = None) -> Any:
    """Fill the holes of a layer with arrays (or placeholders), and apply `other` to each array that it kept."""

    def is_mine(leaf: Any) -> bool:
        return isinstance(leaf, Hole) and leaf.level == level

    leaves, treedef = jax.tree.flatten(rest, is_leaf=is_mine)
    waiting = iter(arrays)
    kept = leaves if other is None else [other(leaf) if has_aval(leaf) else leaf for leaf in leaves]
    return jax.tree.unflatten(treedef, [next(waiting) if is_mine(leaf) else leaf for leaf in kept])


def restack(kept: Store, layers: Sequence[Any]) -> Store:
    """Store `layers`, one for each position, with the structure of `kept`.

    Raises ValueError if positions that share one layer get different values.
    """
    given: dict[int, tuple[int, Any]] = {}
    for position, (layer, which) in enumerate(zip(layers, kept.order, strict=True)):
        first, known = given.setdefault(which, (position, layer))
        for (path, one), (_, other) in zip(_flat(known), _flat(layer), strict=True):
            if has_aval(one) and not _same_arrays(one, other):
                raise ValueError(
                    f"positions {first} and {position} hold one layer, and were given two arrays that differ at "
                    f"{path_text(path)}"
                )
    stacks = []
    for which, stack in enumerate(kept.stacks):
        members = sorted((place.row, at) for at, place in enumerate(kept.places) if place.stack == which)
        columns = [list(column) for column in zip(*(_arrays(given[at][1]) for _, at in members), strict=True)]
        stacks.append(jax.tree.unflatten(jax.tree.structure(stack), [stack_leaves(column) for column in columns]))
    rests = tuple(_with_holes(given[which][1], kept.level) for which in range(len(kept.rests)))
    return Store(tuple(stacks), rests, kept.places, kept.order, kept.level)


def _same_arrays(one: Any, other: Any) -> bool:
    """True if bits are equal, with NaN equal to itself; tracers and shapes have no known bits, so they pass."""
    if one is other or any(isinstance(leaf, jax.core.Tracer | jax.ShapeDtypeStruct) for leaf in (one, other)):
        return True
    if jax.dtypes.issubdtype(one.dtype, jax.dtypes.prng_key):
        one, other = jax.random.key_data(one), jax.random.key_data(other)
    return bool(np.asarray(one).tobytes() == np.asarray(other).tobytes())


def check_stacks(stacks: Sequence[Any], places: Places) -> None:
    """Raise ValueError if an array of a stack does not have its layers along axis 0, as after tree surgery."""
    arrays = {place.stack: place.arrays for place in places}
    for which, size in places.sizes.items():
        found = jax.tree_util.tree_flatten_with_path(stacks[which])[0]
        if len(found) != arrays[which]:
            raise ValueError(
                f"expected {arrays[which]} arrays in stack {which}, as when it was built, got {len(found)}"
            )
        for path, leaf in found:
            if not has_aval(leaf):
                raise ValueError(_not_stacked(leaf, size, which, path))
            _check_size(leaf, size, which, path)


def entries(stacks: Sequence[Any], places: Places, taken: Sequence[int]) -> list[list[Any]]:
    """Return the values for the holes of each layer in `taken`.

    A sequence that was filtered, partitioned or mapped may have anything in place of an array: values that are not
    arrays are the same for all layers, as when a list of layers is mapped.

    Raises ValueError if an array does not have its layers along axis 0.
    """
    members: dict[int, list[int]] = {}
    for at, which in enumerate(taken):
        members.setdefault(places[which].stack, []).append(at)
    found: list[list[Any]] = [[] for _ in taken]
    for stack, mine in members.items():
        column = [places[taken[at]].row for at in mine]
        for value in stacks[stack].entries():
            for at, entry in zip(mine, _rows(value, column, places.sizes[stack], stack), strict=True):
                found[at].append(entry)
    return found


def _rows(value: Any, column: Sequence[int], size: int, stack: int) -> list[Any]:
    leaves, treedef = jax.tree.flatten(value)
    columns = []
    for leaf in leaves:
        if has_aval(leaf):
            _check_size(leaf, size, stack, ())
            columns.append(list(rows(leaf, column)))
        else:
            refuse_wrapped(leaf)
            columns.append([leaf] * len(column))
    return [jax.tree.unflatten(treedef, [one[at] for one in columns]) for at in range(len(column))]


def _check_size(leaf: Any, size: int, stack: int, path: Any) -> None:
    if leaf.ndim == 0 or leaf.shape[0] != size:
        raise ValueError(_not_stacked(leaf, size, stack, path))


def _not_stacked(leaf: Any, size: int, stack: int, path: Any) -> str:
    place = f"{jax.tree_util.keystr(path)}" if path else ""
    return (
        f"expected an array with {size} layers along axis 0 at .stacks[{stack}]{place}, got {aval_text(leaf)}. Replace "
        "leaves of a stack by stacked ones, or a whole layer by `layers.with_layer(index, layer)`"
    )


def _is_index(leaf: Any) -> bool:
    """True for a `StateIndex`, which `equinox.nn.make_with_state` and `equinox.nn.State` need in one piece."""
    return isinstance(leaf, eqx.nn.StateIndex)


def _flat(layer: Any) -> Iterator[tuple[Any, Any]]:
    yield from jax.tree_util.tree_flatten_with_path(layer, is_leaf=_is_index)[0]


def _arrays(layer: Any) -> list[Any]:
    return [leaf for _, leaf in _flat(layer) if has_aval(leaf)]


def _signature(layer: Any) -> Any:
    arrays = [(path, leaf) for path, leaf in _flat(layer) if has_aval(leaf)]
    return type(layer), tuple((path_text(path), *aval(leaf), is_numpy(leaf)) for path, leaf in arrays)


def _with_holes(layer: Any, level: int) -> Any:
    return jax.tree.map(lambda leaf: Hole(level) if has_aval(leaf) else leaf, layer, is_leaf=_is_index)
