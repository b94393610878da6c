"""The leaves that a model would have, in order, with a list of layers in place of each stack."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from scanify.nn.array_stacked import ArrayStacked
from scanify.nn.block_seq import BlockSeq
from scanify.nn.layer_axis import Shapes, layer_axes, shapes_of
from scanify.nn.layer_store import fill
from scanify.nn.trees.leaves import aval_text, has_aval, is_number
from scanify.nn.trees.own_numbers import OwnNumbers, own


@dataclass(frozen=True)
class Part:
    """A leaf of the list form: leaf number `leaf` of the tree, or an entry of it.

    `rows`: for each enclosing stack, outermost first, the row and the number of rows; `axes` are the corresponding axes
    of the leaf. Several leaves of the list form are the same part if the layers of a stack share the value, such as a
    field `heads: int`. `value` is the leaf of the tree, with shapes and dtypes in place of arrays; `name` its place in
    the list form. `layers` is the axis of the part along which the next stack has its layers, None if they share it.
    """

    leaf: int
    value: Any
    rows: tuple[tuple[int, int], ...] = ()
    axes: tuple[int, ...] = ()
    name: str = ""
    layers: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        whole = getattr(self.value, "shape", ())
        return tuple(whole[axis] for axis in self._left)

    @property
    def _left(self) -> list[int]:
        return [axis for axis in range(len(getattr(self.value, "shape", ()))) if axis not in self.axes]

    @property
    def dtype(self) -> Any:
        return getattr(self.value, "dtype", type(self.value))

    def outline(self) -> Any:
        """Return the part with shape and dtype in place of an array; a Python number is unchanged."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype) if has_aval(self.value) else self.value

    @property
    def row(self) -> int:
        """Return the index of this part among all parts of its leaf."""
        at = 0
        for row, count in self.rows:
            at = at * count + row
        return at

    @property
    def parts(self) -> int:
        """Return the number of parts of its leaf."""
        return int(np.prod([count for _, count in self.rows], dtype=int))

    def entry(self, row: int, count: int) -> "Part":
        """Return the part of one layer of the next stack. Raises ValueError if that has another number of layers."""
        if self.layers is None:
            return self
        if self.shape[self.layers] != count:
            raise ValueError(
                f"expected every array of a stack to have its {count} layers along axis {self.layers}; one is "
                f"{aval_text(self.value)}. What an optimiser keeps for a whole stack has no form for its layers"
            )
        axes = (*self.axes, self._left[self.layers])
        return replace(self, rows=(*self.rows, (row, count)), axes=axes, layers=None)


def list_form(tree: Any, *, known: bool = False) -> tuple[list[Part], list[str]]:
    """Return the arrays and Python numbers that `tree` would have with a list in place of each stack, in the order of a
    pytree; and the names of its own leaves, to which the parts refer by number.

    **Arguments:**

    - `tree`: any pytree that holds stacks: a model, an optimiser's state, both; arrays or `jax.ShapeDtypeStruct`s.
    - `known`: refuse a stack if none of its arrays has its recorded shape, so that only the rank shows the layer axis.

    **Raises** ValueError if the axis of the layers is unknown, or its size is not the number of layers.
    """
    leaves, treedef = jax.tree_util.tree_flatten_with_path(tree)
    parts = [Part(at, outline(leaf)) if _is_saved(leaf) else leaf for at, (_, leaf) in enumerate(leaves)]
    named = jax.tree_util.tree_flatten_with_path(_listed(treedef.unflatten(parts), known))[0]
    found = [replace(part, name=jax.tree_util.keystr(path)) for path, part in named if isinstance(part, Part)]
    return found, [jax.tree_util.keystr(path) for path, _ in leaves]


def listed(tree: Any) -> Any:
    """Return `tree` with a `Listed` in place of each stack, and a `Part` in place of each array and Python number."""
    leaves, treedef = jax.tree.flatten(tree)
    parts = [Part(at, outline(leaf)) if _is_saved(leaf) else leaf for at, leaf in enumerate(leaves)]
    return _listed(treedef.unflatten(parts), False)


@dataclass(frozen=True)
class Kind:
    """The static part of an `ArrayStacked`. `form` is the structure of its one module, with each `OwnNumbers` as a
    leaf, and `nodes` are those leaves. A masked tree has another form and other nodes, but the same kind."""

    policy: Any
    level: int
    shapes: Shapes = field(compare=False)
    form: Any = field(compare=False)
    nodes: tuple[Any, ...] = field(compare=False)

    def stack(self, layers: Sequence[Any], join: Callable[[Sequence[Any], int], Any]) -> ArrayStacked[Any]:
        """Stack equal layers. `join(leaves, axis)` stacks the leaves of all layers along an axis, and returns a leaf
        with a `shape`. The axis is 0 unless the leaves have the shape of this stack's leaf in one layer."""
        mine = own(self.level)
        try:
            columns = list(zip(*map(self.form.flatten_up_to, layers), strict=True))
            form, nodes = self.form, self.nodes
        except ValueError:  # an optimiser keeps other state for a layer than one tree of its structure
            columns = list(zip(*map(jax.tree.leaves, layers), strict=True))
            form, nodes = jax.tree.structure(layers[0]), (None,) * len(columns)
        axes: list[int | None] = []

        def joined(node: Any, column: Sequence[Any]) -> Any:
            if mine(node):
                axes.append(None)
                return OwnNumbers(column, self.level)
            leaves, treedef = zip(*map(jax.tree.flatten, column), strict=True)
            found = []
            for each in zip(*leaves, strict=True):
                axes.append(_axis_like(node, each[0].shape))
                found.append(join(each, axes[-1] or 0))
            return treedef[0].unflatten(found)

        stacked = form.unflatten([joined(node, column) for node, column in zip(nodes, columns, strict=True)])
        record = shapes_of(stacked, axes, mine, lambda leaf: getattr(leaf, "shape", None))
        other = {at: size for at, size in record.arrays if size}
        shapes = replace(self.shapes, arrays=tuple((dict(self.shapes.arrays) | other).items()))
        return ArrayStacked(stacked, len(layers), self.policy, self.level, shapes)


def _axis_like(node: Any, shape: tuple[int, ...]) -> int:
    """Return the layer axis of a leaf of a stack if its layers have this shape, else 0."""
    same = isinstance(node, Part) and node.layers is not None and node.entry(0, node.shape[node.layers]).shape == shape
    return node.layers if same else 0


@jax.tree_util.register_pytree_with_keys_class
class Listed(Sequence[Any]):
    """The layers of a stack as a list for code that maps over pytrees; with the kind of an `ArrayStacked`."""

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


def _listed(tree: Any, known: bool) -> Any:
    def one(node: Any) -> Any:
        if isinstance(node, BlockSeq):
            return Listed([_listed(layer, known) for layer in _of_sequence(node, known)])
        if not isinstance(node, ArrayStacked):
            return node
        mine = own(node.level)
        nodes, form = _with_axes(node.stacked, node.shapes, mine, known)
        layers = (form.unflatten([_entry(leaf, at, node) for leaf in nodes]) for at in range(node.num_layers))
        kind = Kind(node.gradient_checkpointing, node.level, node.shapes, form, tuple(nodes))
        return Listed([_listed(layer, known) for layer in layers], kind)

    return jax.tree.map(one, tree, is_leaf=_is_stack)


def _with_axes(tree: Any, shapes: Shapes, is_leaf: Any, known: bool) -> tuple[list[Any], Any]:
    """Return the leaves of a stack's contents, each `Part` with its layer axis, and their structure."""
    leaves, treedef = jax.tree.flatten(tree, is_leaf=is_leaf)
    axes = layer_axes(tree, shapes, is_leaf, _shape, known=known)
    marked = [
        replace(leaf, layers=axis) if isinstance(leaf, Part) else leaf for leaf, axis in zip(leaves, axes, strict=True)
    ]
    return marked, treedef


def _shape(leaf: Any) -> tuple[int, ...] | None:
    return leaf.shape if isinstance(leaf, Part) else None


def _entry(node: Any, index: int, stack: ArrayStacked[Any]) -> Any:
    if own(stack.level)(node):
        return node[index]
    return node.entry(index, stack.num_layers) if isinstance(node, Part) else node


def _of_sequence(stack: BlockSeq[Any], known: bool) -> list[Any]:
    """Return the layers of a `BlockSeq`. Filtered or masked, they may have anything in place of an array."""

    def of_row(entry: Any, row: int, count: int) -> Any:
        return jax.tree.map(lambda part: part.entry(row, count) if isinstance(part, Part) else part, entry)

    leaves, treedef = _with_axes(stack.stacks, stack.shapes, None, known)
    entries = [each.entries() for each in treedef.unflatten(leaves)]
    built = [
        fill(rest, [of_row(each, at.row, stack.places.sizes[at.stack]) for each in entries[at.stack]], stack.level)
        for rest, at in zip(stack.rests, stack.places, strict=True)
    ]
    return [built[which] for which in stack.order]


def _is_stack(node: Any) -> bool:
    return isinstance(node, ArrayStacked | BlockSeq)


def _is_saved(leaf: Any) -> bool:
    return has_aval(leaf) or is_number(leaf)


def outline(leaf: Any) -> Any:
    """Return a leaf with shape and dtype in place of an array."""
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if has_aval(leaf) else leaf
