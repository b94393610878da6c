"""How a random key is made: which two keys are the same, and which may be for some inputs of the program.

A key is an input of the program, the key of a seed, or made of another key and a number, by a split or by `fold_in`.
Row i of a split is the key from folding in i, if jax makes the bits of threefry keys for each element separately
(`jax_threefry_partitionable`, the default). Keys made in two different ways are assumed to be different, as jax
intends. The number may be known only when the program runs, as in `keys[layer]`: then the key may be any of its kind.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

import numpy as np

from scanify.jaxpr.table import Table

# No row is searched for in an array of more keys than this.
MOST = 1 << 16


@dataclass(frozen=True)
class Path:
    """A root, which is an input, a constant or a seed, and the steps from it: the kind of each, and its number.

    A number is an int, or the node (`Unknown`) that computes it when the program runs.
    """

    root: Hashable
    steps: tuple[tuple[Hashable, int | Unknown], ...] = ()

    def then(self, kind: Hashable, number: int | Unknown) -> Path:
        return Path(self.root, (*self.steps, (kind, number)))

    @property
    def known(self) -> bool:
        """True if all of its numbers are known."""
        return not any(isinstance(number, Unknown) for _, number in self.steps)

    def may_be(self, other: Path) -> bool:
        """True if some inputs make both the same key."""
        if self.root != other.root or len(self.steps) != len(other.steps):
            return False
        pairs = zip(self.steps, other.steps, strict=True)
        return all(a[0] == b[0] and (a[1] == b[1] or Unknown in (type(a[1]), type(b[1]))) for a, b in pairs)


@dataclass(frozen=True)
class Unknown:
    """A number that is known when the program runs: the node of the table that computes it."""

    node: int


def path_of(table: Table, node: int) -> Path | None:
    """Return how the key of a node was made; None if that is not understood, so that it may be any key."""
    op, inputs = table.op[node], table.inputs[node]
    if op in ("input", "key", "const", "fill"):
        return Path(("node", node))
    if op == "random_seed":
        return Path("seed").then(("seed", table.dtype[node]), _number(table, inputs[0]))
    if op == "random_fold_in":
        made = path_of(table, inputs[0])
        return None if made is None else made.then(_kind(table, node, "fold in"), _number(table, inputs[1]))
    if op == "random_clone":  # marks the use as another key
        made = path_of(table, inputs[0])
        return None if made is None else made.then("clone", 0)
    if op in ("random_wrap", "random_unwrap"):
        return path_of(table, inputs[0])
    return _row(table, node)


def _row(table: Table, node: int) -> Path | None:
    """Return the path of one row of an array of keys, or of the data of keys."""
    keys, number = _taken(table, node)
    if keys is None:
        return None
    if table.op[keys] == "random_split" and not table.shape[table.inputs[keys][0]]:
        made = path_of(table, table.inputs[keys][0])
        return None if made is None else made.then(_kind(table, keys, ("split", table.shape[keys])), number)
    given = table.inputs[keys][0] if table.op[keys] == "random_wrap" else keys
    return Path(("node", given)).then("row", number) if table.op[given] == "input" else None


def _taken(table: Table, node: int) -> tuple[int | None, int | Unknown]:
    """Return the array and the place from which a key is taken; None if it is not taken from one."""
    moves: list[int] = []
    while table.op[node] in ("reshape", "slice"):
        moves.append(node)
        node = table.inputs[node][0]
    if table.op[node] == "dynamic_slice":
        starts = [start for start in table.inputs[node][1:] if table.value(start) is None]
        keys = table.inputs[node][0]
        keys = table.inputs[keys][0] if table.op[keys] == "random_unwrap" else keys
        return (keys, Unknown(starts[0])) if len(starts) == 1 else (None, 0)
    shape = table.shape[node]
    if not moves or prod(shape) > MOST:
        return None, 0
    data = table.op[node] == "random_unwrap"  # its last axis holds the numbers of one key
    places = np.arange(prod(shape[:-1] if data else shape)).reshape(shape[:-1] if data else shape)
    places = np.broadcast_to(places[..., None], shape) if data else places
    for move in reversed(moves):
        if table.op[move] == "slice":
            box = table.params[move]
            assert isinstance(box, tuple)
            places = places[tuple(slice(start, stop) for start, stop in box)]
        places = places.reshape(table.shape[move])
    found = np.unique(places)
    return (table.inputs[node][0] if data else node, int(found[0])) if found.size == 1 else (None, 0)


def _number(table: Table, node: int) -> int | Unknown:
    found = table.value(node)
    return int(found) if found is not None and found.size == 1 else Unknown(node)


def _kind(table: Table, node: int, otherwise: Hashable) -> Hashable:
    """Return the kind of a step: the same for a split and for `fold_in`, if each key is made separately."""
    threefry = getattr(getattr(table.dtype[node], "_impl", None), "tag", None) == "fry"
    apart = "('threefry_partitionable', ('bool', True))" in str(table.params[node])
    return "number" if threefry and apart else otherwise
