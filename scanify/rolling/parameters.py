"""`scanify.reroll_parameters`: stack the parameters of layers once, outside of the function that reads them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.errors import ScanifyError

# The least number of equal layers that are stacked.
LEAST = 3


@dataclass(frozen=True)
class _Stack:
    """The leaves that are rows of one array, in order; with `one`, the array is a single leaf."""

    name: str
    leaves: tuple[int, ...]
    one: bool = False


class Unstack:
    """Unstacks parameters: `unstack(stacked)` is a pytree like the one they were made from."""

    def __init__(self, params: Any) -> None:
        paths, self._treedef = jax.tree_util.tree_flatten_with_path(params)
        leaves = [leaf for _, leaf in paths]
        self._others = [None if _is_array(leaf) else leaf for leaf in leaves]
        names = [jax.tree_util.keystr(path) for path, _ in paths]
        self._stacks = list(_stacks(names, leaves))

    def stack(self, params: Any) -> dict[str, Any]:
        """Stack other parameters of the same structure in the same way."""
        leaves, treedef = jax.tree.flatten(params)
        if treedef != self._treedef:
            raise ScanifyError(f"expected parameters with the structure {self._treedef}, got {treedef}")
        found = {}
        for each in self._stacks:
            rows = [leaves[at] for at in each.leaves]
            alike = np if all(isinstance(row, np.ndarray) for row in rows) else jnp
            found[each.name] = rows[0] if each.one else alike.stack(rows)
        return found

    def __call__(self, stacked: dict[str, Any]) -> Any:
        """Return the parameters. `scanify.reroll` reads them from the stacks without unstacking."""
        if set(stacked) != {each.name for each in self._stacks}:
            raise ScanifyError(f"expected the stacks {[each.name for each in self._stacks]}, got {list(stacked)}")
        leaves = list(self._others)
        for each in self._stacks:
            array = stacked[each.name]
            for row, at in enumerate(each.leaves):
                leaves[at] = array if each.one else _row(array, row)
        return jax.tree.unflatten(self._treedef, leaves)


def reroll_parameters(params: Any) -> tuple[dict[str, Any], Unstack]:
    """Stack the parameters of equal layers, and return the stacks and the function that unstacks them.

    Code rolled by `scanify.reroll` reads separate arrays, which are stacked in each step. Nothing is copied if they are
    rows of stacks:

        stacked, unstack = scanify.reroll_parameters(params)
        loss = jax.jit(scanify.reroll(lambda stacked, x: f(unstack(stacked), x)))

    Layers are recognised by their names: leaves of equal shape and dtype whose paths differ in one number, the
    outermost, and are numbered consecutively (`.layers[0].w`, `.layers[1].w`; `block_0`, `block_1`; Haiku's `linear`,
    `linear_1`). Everything else is unchanged. `stacked` is a dict of arrays by name, for optimizers and checkpoints;
    `unstack.stack(params)` stacks other parameters of the same structure.
    """
    unstack = Unstack(params)
    return unstack.stack(params), unstack


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray) and not (isinstance(leaf, np.ndarray) and leaf.dtype.hasobject)


def _row(array: Any, at: int) -> Any:
    return array[at] if isinstance(array, np.ndarray) else jax.lax.index_in_dim(array, at, keepdims=False)


def _type(leaf: Any) -> Any:
    return type(leaf) if isinstance(leaf, np.ndarray) else jax.Array, jax.typeof(leaf), getattr(leaf, "sharding", None)


def _stacks(names: list[str], leaves: list[Any]) -> Iterator[_Stack]:
    """Group leaves into stacks by the outermost number that counts layers."""
    free = {at: re.split(r"(\d+)", name) for at, name in enumerate(names) if _is_array(leaves[at])}
    depth = max((len(parts) // 2 for parts in free.values()), default=0)
    for slot in range(depth):
        groups: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for at, parts in free.items():
            if slot < len(parts) // 2:
                place = 2 * slot + 1
                groups["".join((*parts[:place], "*", *parts[place + 1 :]))][int(parts[place])] = at
        unnumbered = {names[at]: at for at in free}
        for template, members in groups.items():
            first = unnumbered.get(template.replace("_*", "", 1))
            if "_*" in template and 0 not in members and first is not None:
                members[0] = first  # the first layer in Haiku has no number
            for run in _runs(members, leaves):
                if all(at in free for at in run.values()):
                    numbers = sorted(run)
                    name = template.replace("*", f"{numbers[0]}..{numbers[-1]}", 1)
                    yield _Stack(name, tuple(run[number] for number in numbers))
                    for at in run.values():
                        del free[at]
    for at in free:
        yield _Stack(names[at], (at,), one=True)


def _runs(members: dict[int, int], leaves: list[Any]) -> Iterator[dict[int, int]]:
    """Yield runs of consecutive numbers whose leaves have the same type."""
    run: dict[int, int] = {}
    for number in sorted(members):
        at = members[number]
        if run and (number - 1 not in run or _type(leaves[at]) != _type(leaves[run[number - 1]])):
            if len(run) >= LEAST:
                yield run
            run = {}
        run[number] = at
    if len(run) >= LEAST:
        yield run
