"""Apply a function of trees with lists of layers to trees with stacks, computing equal layers at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from scanify.nn.list_form import Listed, Part, listed
from scanify.nn.trees.leaves import is_array
from scanify.optim.by_layer import Owner, Results, Row, by_layer
from scanify.optim.without_calls import without_calls


def on_lists(fn: Callable[[Any], Any], tree: Any, like: Any = None) -> Any:
    """Apply `fn` to `tree` with each stack replaced by a list of layers, and stack the lists in its result again.

    `like` has the stacks that the result should have. Without it, lists whose layers differ only in the values of
    arrays become an `ArrayStacked`; others stay lists.
    """
    leaves = jax.tree.leaves(tree)
    nodes, treedef = jax.tree.flatten(listed(tree))
    values = [leaves[node.leaf] if isinstance(node, Part) else node for node in nodes]
    rows = [
        Row(value, tuple(row for row, _ in node.rows), node.axes) if isinstance(node, Part) else None
        for value, node in zip(values, nodes, strict=True)
    ]
    traced = [is_array(value) for value in values]
    given: list[Any] = []

    def flat(*arrays: Any) -> list[Any]:
        waiting = iter(arrays)
        out = fn(treedef.unflatten([next(waiting) if array else v for v, array in zip(values, traced, strict=True)]))
        found, structure = jax.tree.flatten(out)
        given[:] = [structure, [None if is_array(leaf) else leaf for leaf in found]]
        return [leaf for leaf in found if is_array(leaf)]

    inputs = [row for row, array in zip(rows, traced, strict=True) if row is not None and array]
    closed = without_calls(jax.make_jaxpr(flat)(*(row.struct() for row in inputs)))
    structure, others = given
    outs = iter([_Out((at,), aval.shape, aval.dtype) for at, aval in enumerate(closed.out_avals)])
    numbered = structure.unflatten([next(outs) if leaf is None else leaf for leaf in others])
    results = by_layer(closed, inputs, _owners(numbered, len(closed.out_avals)))
    stacked = _gathered(numbered) if like is None else _as(like, numbered)
    return jax.tree.map(lambda leaf: leaf.of(results) if isinstance(leaf, _Out) else leaf, stacked)


@dataclass(frozen=True)
class _Out:
    """One result of a program, by its index; or several in the order of layers, stacked along `axes` of sizes `counts`.

    `shape` is the shape of the whole.
    """

    numbers: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: Any
    counts: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()

    @staticmethod
    def stacked(outs: "Sequence[_Out]", axis: int) -> "_Out":
        first = outs[0]
        shape = (*first.shape[:axis], len(outs), *first.shape[axis:])
        axes = (axis, *(other + (other >= axis) for other in first.axes))
        return _Out(_numbers(outs), shape, first.dtype, (len(outs), *first.counts), axes)

    def of(self, results: Results) -> Any:
        if not self.counts:
            return results.one(self.numbers[0])
        within = prod(self.counts[1:])
        columns = [results.column(self.numbers[at::within]) for at in range(within)]
        array = columns[0] if within == 1 else jnp.stack(columns, axis=1)
        array = array.reshape(*self.counts, *array.shape[1 if within == 1 else 2 :])
        front = tuple(range(len(self.axes)))
        return array if self.axes == front else jnp.moveaxis(array, front, self.axes)


def _owners(tree: Any, count: int) -> list[Owner | None]:
    """Return the layer of each result: the length of its list, and its index in the list."""
    found: list[Owner | None] = [None] * count
    for node in jax.tree.leaves(tree, is_leaf=_is_listed):
        for at, layer in enumerate(node if _is_listed(node) else ()):
            for leaf in jax.tree.leaves(layer):
                if isinstance(leaf, _Out):
                    found[leaf.numbers[0]] = (len(node), at)
    return found


def _gathered(tree: Any) -> Any:
    """Replace each list of equal layers that came from a stack by an `ArrayStacked`, inner lists first."""

    def gather(node: Any) -> Any:
        if not _is_listed(node):
            return node
        layers = [jax.tree.map(gather, layer, is_leaf=_is_listed) for layer in node]
        columns = list(zip(*map(jax.tree.leaves, layers), strict=False))
        alike = len({jax.tree.structure(layer) for layer in layers}) == 1
        if node.stack is None or not alike or not all(map(_one_kind, columns)):
            return Listed(layers, node.stack)
        return node.stack.stack(layers, _Out.stacked)

    return jax.tree.map(gather, tree, is_leaf=_is_listed)


def _numbers(outs: Sequence[_Out]) -> tuple[int, ...]:
    return tuple(number for out in outs for number in out.numbers)


def _one_kind(column: Sequence[Any]) -> bool:
    return all(isinstance(leaf, _Out) for leaf in column) and (
        len({(leaf.counts, leaf.axes, leaf.shape, leaf.dtype) for leaf in column}) == 1
    )


def _as(like: Any, numbered: Any) -> Any:
    """Arrange the results like the leaves of `like`. Raises ValueError if the structures differ."""
    form = listed(like)
    if jax.tree.structure(form) != jax.tree.structure(numbered):
        raise ValueError(
            "expected the optimiser to give updates and a state of the structure that it was given, with a list of "
            f"layers in place of each stack; expected {jax.tree.structure(form)}, got {jax.tree.structure(numbered)}"
        )
    leaves, treedef = jax.tree.flatten(like)
    rows: dict[int, dict[int, Any]] = {}
    stacked: dict[int, Part] = {}
    for part, out in zip(jax.tree.leaves(form), jax.tree.leaves(numbered), strict=True):
        if not isinstance(part, Part):
            continue
        stacked[part.leaf] = part
        if part.row in rows.setdefault(part.leaf, {}):
            raise ValueError(
                "expected layers that have their own arrays; some of a BlockSeq share one, which an optimiser of lists "
                "would update once for each"
            )
        rows[part.leaf][part.row] = out
    for leaf, found in rows.items():
        outs = [found[row] for row in sorted(found)]
        part = stacked[leaf]
        counts = tuple(count for _, count in part.rows)
        leaves[leaf] = replace(outs[0], numbers=_numbers(outs), counts=counts, axes=part.axes) if counts else outs[0]
    return treedef.unflatten(leaves)


def _is_listed(node: Any) -> bool:
    return isinstance(node, Listed)
