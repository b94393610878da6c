"""Which leaves a model would have, and in which order, with a list of layers in place of each stack."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from scanify.nn.array_stacked import ArrayStacked
from scanify.nn.block_seq import BlockSeq
from scanify.nn.layer_store import Place, fill
from scanify.nn.trees.leaves import aval_text, has_aval, is_number
from scanify.nn.trees.own_numbers import OwnNumbers, own


@dataclass(frozen=True)
class Part:
    """A leaf of the list form: leaf number `leaf` of the tree, or an entry of it.

    `rows`: for each stack around it the row that it is in and how many there are, the outermost first. Several leaves
    of the list form are the same part where the layers of a stack share what stands there, as a field `heads: int`.
    `value` is the leaf of the tree, with shapes and dtypes in place of arrays; `name` its place in the list form.
    """

    leaf: int
    value: Any
    rows: tuple[tuple[int, int], ...] = ()
    name: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        whole: tuple[int, ...] = tuple(getattr(self.value, "shape", ()))
        return whole[len(self.rows) :]

    @property
    def dtype(self) -> Any:
        return getattr(self.value, "dtype", type(self.value))

    def outline(self) -> Any:
        """The part with shape and dtype in place of an array; a Python number as it is."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype) if has_aval(self.value) else self.value

    @property
    def row(self) -> int:
        """The place of this part among all that its leaf is made of."""
        at = 0
        for row, count in self.rows:
            at = at * count + row
        return at

    @property
    def parts(self) -> int:
        """How many parts its leaf is made of."""
        return int(np.prod([count for _, count in self.rows], dtype=int))

    def entry(self, row: int, count: int) -> "Part":
        """What one layer has of it. Raises ValueError where the layers do not lie along its first axis."""
        if not self.shape:
            return self
        if self.shape[0] != count:
            raise ValueError(
                f"expected every array of a stack to have its {count} layers along axis 0; one is "
                f"{aval_text(self.value)}. What an optimiser keeps for a whole stack has no form for its layers"
            )
        return replace(self, rows=(*self.rows, (row, count)))


def list_form(tree: Any) -> tuple[list[Part], list[str]]:
    """The arrays and Python numbers that `tree` would have with a list in place of each stack, in the order of a
    pytree; and the names of its own leaves, which the parts number.

    **Arguments:**

    - `tree`: any pytree that holds stacks: a model, an optimiser's state, both; arrays or `jax.ShapeDtypeStruct`s.

    **Raises** ValueError where an array of an `ArrayStacked` does not have the layers along axis 0.
    """
    leaves, treedef = jax.tree_util.tree_flatten_with_path(tree)
    parts = [Part(at, outline(leaf)) if _is_saved(leaf) else leaf for at, (_, leaf) in enumerate(leaves)]
    named = jax.tree_util.tree_flatten_with_path(_listed(treedef.unflatten(parts)))[0]
    found = [replace(part, name=jax.tree_util.keystr(path)) for path, part in named if isinstance(part, Part)]
    return found, [jax.tree_util.keystr(path) for path, _ in leaves]


def listed(tree: Any) -> Any:
    """`tree` with a `Listed` in place of each stack, and a `Part` in place of each array and Python number."""
    leaves, treedef = jax.tree.flatten(tree)
    parts = [Part(at, outline(leaf)) if _is_saved(leaf) else leaf for at, leaf in enumerate(leaves)]
    return _listed(treedef.unflatten(parts))


@dataclass(frozen=True)
class Kind:
    """What an `ArrayStacked` has beside its leaves. `form` is the structure of its one module, each `OwnNumbers` being
    a leaf, and `own` says which leaves are such. Of trees that are masked it is another, but the kind is the same."""

    policy: Any
    level: int
    form: Any = field(compare=False)
    own: tuple[bool, ...] = field(compare=False)

    @staticmethod
    def of(stack: ArrayStacked[Any]) -> "Kind":
        nodes, form = jax.tree.flatten(stack.stacked, is_leaf=own(stack.level))
        return Kind(stack.gradient_checkpointing, stack.level, form, tuple(map(own(stack.level), nodes)))

    def stack(self, layers: Sequence[Any], join: Callable[[Sequence[Any]], Any]) -> ArrayStacked[Any]:
        """Layers that are alike as one stack again; `join` makes one leaf of those of all layers."""
        try:
            columns = list(zip(*map(self.form.flatten_up_to, layers), strict=True))
        except ValueError:  # an optimiser keeps something else for a layer than one tree of its structure
            return ArrayStacked(_joined(layers, join), len(layers), self.policy, self.level)
        nodes = [
            OwnNumbers(column, self.level) if number else _joined(column, join)
            for column, number in zip(columns, self.own, strict=True)
        ]
        return ArrayStacked(self.form.unflatten(nodes), len(layers), self.policy, self.level)


def _joined(trees: Sequence[Any], join: Callable[[Sequence[Any]], Any]) -> Any:
    leaves = zip(*map(jax.tree.leaves, trees), strict=True)
    return jax.tree.structure(trees[0]).unflatten([join(column) for column in leaves])


@jax.tree_util.register_pytree_with_keys_class
class Listed(Sequence[Any]):
    """The layers of a stack, to whatever walks through pytrees a list of them; with the kind of an `ArrayStacked`."""

    def __init__(self, layers: Sequence[Any], stack: Kind | None = None) -> None:
        self._layers = tuple(layers)
        self.stack = stack

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: Any) -> Any:
        return self._layers[index]

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], Kind | None]:
        return [(jax.tree_util.SequenceKey(at), layer) for at, layer in enumerate(self._layers)], self.stack

    def tree_flatten(self) -> tuple[tuple[Any, ...], Kind | None]:
        return self._layers, self.stack

    @classmethod
    def tree_unflatten(cls, stack: Kind | None, layers: Sequence[Any]) -> "Listed":
        return cls(layers, stack)

    def __repr__(self) -> str:
        return repr(list(self._layers))


def _listed(tree: Any) -> Any:
    def one(node: Any) -> Any:
        if not _is_stack(node):
            return node
        kind = Kind.of(node) if isinstance(node, ArrayStacked) else None
        return Listed(list(map(_listed, _layers(node))), kind)

    return jax.tree.map(one, tree, is_leaf=_is_stack)


def _layers(stack: Any) -> Iterator[Any]:
    if isinstance(stack, BlockSeq):
        built = [_of_sequence(stack, rest, place) for rest, place in zip(stack.rests, stack.places, strict=True)]
        yield from (built[which] for which in stack.order)
        return
    nodes, treedef = jax.tree.flatten(stack.stacked, is_leaf=own(stack.level))
    for index in range(stack.num_layers):
        yield treedef.unflatten([_entry(node, index, stack) for node in nodes])


def _entry(node: Any, index: int, stack: ArrayStacked[Any]) -> Any:
    if own(stack.level)(node):
        return node[index]
    return node.entry(index, stack.num_layers) if isinstance(node, Part) else node


def _of_sequence(stack: BlockSeq[Any], rest: Any, place: Place) -> Any:
    """A layer of a `BlockSeq`. Filtered or masked, it may have anything in place of an array."""

    def of_row(entry: Any, row: int, count: int) -> Any:
        return jax.tree.map(lambda part: part.entry(row, count) if isinstance(part, Part) else part, entry)

    entries, sizes = stack.stacks[place.stack].entries(), stack.places.sizes[place.stack]
    return fill(rest, list(map(of_row, entries, place.rows, sizes)), stack.level)


def _is_stack(node: Any) -> bool:
    return isinstance(node, ArrayStacked | BlockSeq)


def _is_saved(leaf: Any) -> bool:
    return has_aval(leaf) or is_number(leaf)


def outline(leaf: Any) -> Any:
    """A leaf with shape and dtype in place of an array."""
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if has_aval(leaf) else leaf
