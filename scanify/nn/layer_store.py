"""How the layers of a `BlockSeq` are kept: arrays stacked where their shapes agree, everything else layer by layer."""

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
    """Stands in a layer for an array that is kept in a stack: that of the sequence of layers which has this level, for
    the layers of one may hold another."""

    level: int


@dataclass(frozen=True)
class Place:
    """Where the arrays of a layer are: entry `rows[i]` of array `i` of stack `stack`."""

    stack: int
    rows: tuple[int, ...]


class Places(tuple[Place, ...]):
    """Where the arrays of each layer are."""

    @cached_property
    def sizes(self) -> dict[int, list[int]]:
        """For each stack, how many entries each of its arrays has."""
        found: dict[int, list[int]] = {}
        for place in self:
            known = found.setdefault(place.stack, [0] * len(place.rows))
            for at, row in enumerate(place.rows):
                known[at] = max(known[at], row + 1)
        return found


@dataclass(frozen=True)
class Store:
    """`stacks`: the arrays by name, a leading axis added. `rests`: the layers, each object once, with holes for
    those arrays. `places`: one for each of `rests`. `order`: which of `rests` stands at each position."""

    stacks: tuple[Any, ...]
    rests: tuple[Any, ...]
    places: Places
    order: tuple[int, ...]
    level: int


def store(layers: list[Any]) -> Store:
    """Take layers apart. A layer that stands in the sequence more than once, and an array that layers share, are kept
    once. The list is emptied, so that layers that nobody else holds are gone when they have been stacked.

    Raises:
        TypeError: an element is neither a module, nor a tuple, list or dict of such, nor a function, nor None.
        ValueError: layers share an array that does not have the same place in both.
    """
    _refuse_others(layers)
    unique: dict[int, int] = {}
    for index, layer in enumerate(layers):
        unique.setdefault(id(layer), index)
    first = sorted(unique.values())
    numbers = {index: which for which, index in enumerate(first)}
    order = tuple(numbers[unique[id(layer)]] for layer in layers)
    level = level_above(jax.tree.leaves(list(layers), is_leaf=is_stack))
    groups: dict[Any, list[int]] = {}
    for which, index in enumerate(first):
        groups.setdefault(_signature(layers[index]), []).append(which)
    taken = _taken(layers, first, list(groups.values()))
    rests = tuple(_with_holes(layers[index], level) for index in first)
    layers.clear()
    places = {which: place for group in taken for which, place in group.places.items()}
    stacks = [NamedArrays.of(group.paths, stack_columns(group.columns)) for group in taken]
    return Store(tuple(stacks), rests, Places(places[which] for which in range(len(first))), order, level)


@dataclass(frozen=True)
class _Group:
    """Layers that are kept in one stack: the paths of their arrays, a column of arrays for each, and where the arrays
    of each layer are."""

    paths: list[Any]
    columns: list[Any]
    places: dict[int, Place]


def _taken(layers: Sequence[Any], first: Sequence[int], groups: Sequence[Sequence[int]]) -> list[_Group]:
    """The arrays of the layers of each group; the layers of one are alike, and so are their arrays."""
    taken: list[_Group] = []
    homes: dict[int, tuple[Any, int]] = {}
    for number, members in enumerate(groups):
        built = [layers[first[which]] for which in members]
        _refuse_moved(built, [first[which] for which in members], number, homes)
        columns = [_once(column) for column in zip(*(_arrays(layer) for layer in built), strict=True)]
        paths = [path for path, leaf in _flat(built[0]) if has_aval(leaf)]
        places = {which: Place(number, tuple(rows[at] for _, rows in columns)) for at, which in enumerate(members)}
        taken.append(_Group(paths, [kept for kept, _ in columns], places))
    return taken


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
    """A layer with its arrays put back (or what stands for them), and `other` of each array that it kept."""

    def is_mine(leaf: Any) -> bool:
        return isinstance(leaf, Hole) and leaf.level == level

    leaves, treedef = jax.tree.flatten(rest, is_leaf=is_mine)
    waiting = iter(arrays)
    kept = leaves if other is None else [other(leaf) if has_aval(leaf) else leaf for leaf in leaves]
    return jax.tree.unflatten(treedef, [next(waiting) if is_mine(leaf) else leaf for leaf in kept])


def restack(kept: Store, layers: Sequence[Any]) -> Store:
    """`kept` with the arrays of `layers`, one for each position, which have the structure of the layers in it.

    Raises ValueError where positions that hold one layer, or layers that share an array, are given different values.
    """
    sources: dict[tuple[int, int, int], tuple[int, Any]] = {}
    for position, (layer, which) in enumerate(zip(layers, kept.order, strict=True)):
        place = kept.places[which]
        named = [(path, leaf) for path, leaf in _flat(layer) if has_aval(leaf)]
        for at, ((path, leaf), row) in enumerate(zip(named, place.rows, strict=True)):
            first, value = sources.setdefault((place.stack, at, row), (position, leaf))
            if not _same_arrays(value, leaf):
                raise ValueError(
                    f"layers {first} and {position} share the array at {path_text(path)}, and were given two arrays "
                    "that differ"
                )
    stacks = []
    for which, stack in enumerate(kept.stacks):
        leaves, treedef = jax.tree.flatten(stack)
        rows = [sorted(row for s, at, row in sources if (s, at) == (which, array)) for array in range(len(leaves))]
        columns = [[sources[which, at, row][1] for row in mine] for at, mine in enumerate(rows)]
        stacks.append(jax.tree.unflatten(treedef, [stack_leaves(column) for column in columns]))
    rests = tuple(_with_holes(layers[kept.order.index(which)], kept.level) for which in range(len(kept.rests)))
    return Store(tuple(stacks), rests, kept.places, kept.order, kept.level)


def _same_arrays(one: Any, other: Any) -> bool:
    """Bit for bit, NaN being equal to itself; of tracers and shapes nothing is known, so they pass."""
    if one is other or any(isinstance(leaf, jax.core.Tracer | jax.ShapeDtypeStruct) for leaf in (one, other)):
        return True
    if jax.dtypes.issubdtype(one.dtype, jax.dtypes.prng_key):
        one, other = jax.random.key_data(one), jax.random.key_data(other)
    return bool(np.asarray(one).tobytes() == np.asarray(other).tobytes())


def check_stacks(stacks: Sequence[Any], places: Places) -> None:
    """Raises ValueError where an array of a stack does not have its layers along axis 0, as after tree surgery."""
    for which, sizes in places.sizes.items():
        found = jax.tree_util.tree_flatten_with_path(stacks[which])[0]
        if len(found) != len(sizes):
            raise ValueError(f"expected {len(sizes)} arrays in stack {which}, as when it was built, got {len(found)}")
        for (path, leaf), size in zip(found, sizes, strict=True):
            if not has_aval(leaf):
                raise ValueError(_not_stacked(leaf, size, which, path))
            _check_size(leaf, size, which, path)


def entries(stacks: Sequence[Any], places: Places, taken: Sequence[int]) -> list[list[Any]]:
    """Of the layers `taken`, what each has in its holes.

    A sequence that has been filtered, partitioned or mapped may have anything in place of an array: what is no array
    is the same for all layers, as in a list of layers that is mapped so.

    Raises ValueError where an array does not have its layers along axis 0.
    """
    members: dict[int, list[int]] = {}
    for at, which in enumerate(taken):
        members.setdefault(places[which].stack, []).append(at)
    found: list[list[Any]] = [[] for _ in taken]
    for stack, mine in members.items():
        for array, value in enumerate(stacks[stack].entries()):
            column = [places[taken[at]].rows[array] for at in mine]
            size = places.sizes[stack][array]
            for at, entry in zip(mine, _rows(value, column, size, stack), strict=True):
                found[at].append(entry)
    return found


def _rows(value: Any, column: Sequence[int], size: int, stack: int) -> list[Any]:
    leaves, treedef = jax.tree.flatten(value)
    columns = []
    for leaf in leaves:
        if has_aval(leaf):
            _check_size(leaf, size, stack, ())
            once = list(dict.fromkeys(column))  # an array that layers share is one object
            found = dict(zip(once, rows(leaf, once), strict=True))
            columns.append([found[row] for row in column])
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
    """A `StateIndex` stays in one piece, as `equinox.nn.make_with_state` and `equinox.nn.State` look for it."""
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


def _once(column: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Arrays, each object once, and which of them stands at each place."""
    seen: dict[int, int] = {}
    kept: list[Any] = []
    for array in column:
        if id(array) not in seen:
            seen[id(array)] = len(kept)
            kept.append(array)
    return kept, [seen[id(array)] for array in column]


def _refuse_moved(layers: Sequence[Any], indices: Sequence[int], stack: int, homes: dict[int, tuple[Any, int]]) -> None:
    for layer, index in zip(layers, indices, strict=True):
        for path, leaf in _flat(layer):
            if not has_aval(leaf) or not eqx.is_inexact_array(leaf):
                continue
            home = (stack, path_text(path))
            other = homes.setdefault(id(leaf), (home, index))
            if other != (home, index) and other[0] != home and other[1] != index:
                raise ValueError(
                    f"layers {other[1]} and {index} hold the same array object, at {other[0][1]} and {home[1]}; it "
                    "cannot be kept once where its places differ. Pass it to the call (shared, in_axes=None) instead "
                    "of holding it in the layers, or copy it where the layers are meant to have their own"
                )
