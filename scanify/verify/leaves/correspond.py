"""Match the array leaves of the rewritten version with the array leaves of the original.

Both pytrees are walked together, by the qualified names of classes and the names of fields, because a module that is
loaded twice has classes that are equal in nothing else. If the original holds N layers and the rewritten version an
`ArrayStacked`, leaf k of the stack is the stack of leaf k of the N layers; if it holds a `BlockSeq`, of those layers
that are stored together. So both versions become functions of the same leaves.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from scanify.nn import ArrayStacked, BlockSeq
from scanify.nn.layer_axis import layer_axes
from scanify.nn.trees.own_numbers import own
from scanify.verify.objects.mutable import unwrapped
from scanify.verify.objects.same import difference
from scanify.verify.objects.statics import qualified
from scanify.verify.values.arrays import is_traced, show_aval, show_value, struct

_NAMED = 6


@dataclass(frozen=True)
class Recipe:
    """One array leaf of the rewritten version, from array leaves of the original, in flattening order.

    `lead` is the shape of the axes that stacking added: () means that the leaf is `sources[0]` itself, (N,) the stack
    of N sources, (M, N) a stack of stacks with the sources in row-major order. `axes` are these axes of the leaf; ()
    means that they are in front, as outside of ensembles.
    """

    sources: tuple[int, ...]
    lead: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.axes == tuple(range(len(self.lead))):
            object.__setattr__(self, "axes", ())

    @property
    def first(self) -> int:
        """Return the first of the axes that stacking added."""
        return self.axes[0] if self.axes else 0

    def with_lead(self, entry: Sequence[Any], lead: Sequence[Any]) -> tuple[Any, ...]:
        """Merge one value for each axis of a source and one for each added axis into one for each axis of the leaf."""
        added = dict(zip(self.axes or range(len(lead)), lead, strict=True))
        rest = iter(entry)
        return tuple(added[at] if at in added else next(rest) for at in range(len(entry) + len(lead)))


@dataclass(frozen=True)
class Mismatch:
    """Two values at the same place that are not the same: `path` in the original, and their difference in words.

    `certain` is false if they are only not seen to be the same.
    """

    path: str
    text: str
    certain: bool = True

    def __str__(self) -> str:
        return f"{self.path or 'the model'}: {self.text}"


@dataclass(frozen=True)
class Correspondence:
    """How two pytrees of one structure correspond.

    `names` and `layers` belong to the array leaves of the original: key path, and index in the list of layers (None
    outside of one). `recipes` belong to the array leaves of the rewritten version. `statics` are the differing values
    other than arrays. `stacks` are the lengths of the stacks of the rewritten version. `matched` describes the sources
    of each array leaf of the rewritten version, if the structures differ.

    If the original holds stacks and the rewritten version lists, the shared leaves are those of its layers: then
    `names`, `layers` and `recipes` refer to these, and `before` has the recipes of its own leaves. `how` describes how
    leaves were matched.
    """

    names: tuple[str, ...]
    layers: tuple[int | None, ...]
    recipes: tuple[Recipe, ...]
    statics: tuple[Mismatch, ...] = ()
    stacks: tuple[int, ...] = ()
    matched: tuple[tuple[str, str], ...] = ()
    before: tuple[Recipe, ...] | None = None
    how: str = "the parameters were matched leaf by leaf"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on the recipes, if they do not follow from the structures of the two models."""
        other = [f"{after} is {before}" for after, before in _by_part(self.matched) if after != before]
        if not other:
            return ()
        more = f" and {len(other) - _NAMED} more" if len(other) > _NAMED else ""
        return (f"{self.how}: {', '.join(other[:_NAMED])}{more} of the original",)


@dataclass(frozen=True, eq=False)
class Slot:
    """Marks array leaf number `index` of a pytree, or its entry `at` along these `axes`."""

    index: int
    aval: jax.ShapeDtypeStruct
    axes: tuple[int, ...] = ()
    at: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.aval.shape[axis] for axis in self._left)

    @property
    def _left(self) -> list[int]:
        return [axis for axis in range(len(self.aval.shape)) if axis not in self.axes]

    def along(self, axis: int) -> Slot:
        """Return a slot for one entry along this axis, to be chosen by `entry`."""
        return dataclasses.replace(self, axes=(*self.axes, self._left[axis]))

    def entry(self, row: int) -> Slot:
        return dataclasses.replace(self, at=(*self.at, row))


def layers_of(stack: ArrayStacked[Any] | BlockSeq[Any]) -> list[Any]:
    """Return the layers of a stack with a `Slot` for each array. Raises ValueError if their axis is not known."""
    mine = own(stack.level)
    tree = stack.stacks if isinstance(stack, BlockSeq) else stack.stacked
    nodes, treedef = jax.tree.flatten(tree, is_leaf=mine)
    shapes = stack.shapes.marked()  # a wrong axis can fail a correct version, but cannot pass a wrong one
    axes = layer_axes(tree, shapes, mine, lambda leaf: leaf.shape if isinstance(leaf, Slot) else None, known=True)
    nodes = [node if axis is None else node.along(axis) for node, axis in zip(nodes, axes, strict=True)]
    if isinstance(stack, BlockSeq):
        return stack.with_arrays(lambda slot, row: slot if row is None else slot.entry(row), treedef.unflatten(nodes))

    def entry(node: Any, axis: int | None, row: int) -> Any:
        return node[row] if mine(node) else node if axis is None else node.entry(row)

    return [treedef.unflatten(map(entry, nodes, axes, itertools.repeat(row))) for row in range(len(stack))]


def is_stack(node: Any) -> bool:
    return isinstance(node, ArrayStacked | BlockSeq)


def _by_part(matched: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Replace the leaves of a stack by `stack is layers[0..3]`, if that holds for all of them."""
    short = [_parents(*names) for names in matched]
    meant = {after: {before for other, before in short if other == after} for after, _ in short}
    chosen = (each if len(meant[each[0]]) == 1 else names for each, names in zip(short, matched, strict=True))
    return list(dict.fromkeys(chosen))


def _parents(after: str, before: str) -> tuple[str, str]:
    """Remove the last parts that both names share."""
    ours, theirs = after.split("."), before.split(".")
    while len(ours) > 1 and len(theirs) > 1 and ours[-1] == theirs[-1]:
        ours.pop()
        theirs.pop()
    return ".".join(ours), ".".join(theirs)


def slotted(tree: Any) -> Any:
    """Replace each array leaf (`arrays.is_traced`) by a `Slot`, numbered in flattening order."""
    leaves, treedef = jax.tree.flatten(tree)
    count = 0
    for at, leaf in enumerate(leaves):
        if is_traced(leaf):
            leaves[at] = Slot(count, struct(leaf))
            count += 1
    return jax.tree.unflatten(treedef, leaves)


def correspond(before: Any, after: Any, *, classes: bool = False) -> Correspondence | Mismatch:
    """Match two pytrees of arrays (or `jax.ShapeDtypeStruct`); a Mismatch if their structures differ.

    With `classes` the classes of their nodes are compared completely, too.
    """
    return walked(slotted(before), slotted(after), classes=classes)


def walked(first: Any, second: Any, *, classes: bool = False) -> Correspondence | Mismatch:
    """Match two pytrees with a `Slot` for each array."""
    walk = _Walk(first, classes=classes)
    try:
        walk.visit(first, second, _Here())
    except _Parted as parted:
        return parted.mismatch
    recipes = (Recipe(tuple(walk.sources[i]), *walk.leads[i]) for i in range(len(walk.sources)))
    count = range(len(walk.names))
    return Correspondence(
        tuple(walk.names[i] for i in count),
        tuple(walk.layers[i] for i in count),
        tuple(recipes),
        tuple(walk.statics),
        tuple(walk.stacks),
    )


def unseen_in_common(before: Any, after: Any) -> tuple[Mismatch, ...]:
    """Return values that two pytrees of other structures have at common paths and that are not seen to be the same."""
    walk = _Walk(before, common=True)
    walk.visit(slotted(before), slotted(after), _Here())
    return tuple(each for each in walk.statics if not each.certain)


@dataclass(frozen=True)
class _Here:
    """The position of the walk: key path, and index of the layer.

    `called`: the value here is the one that the case calls, or is inside a library's wrapper of it.
    """

    path: str = ""
    layer: int | None = None
    called: bool = False

    def at(self, key: Any, node: Any) -> _Here:
        wraps = callable(node) and type(node).__module__.partition(".")[0] in ("equinox", "jax", "functools")
        called = self.called and wraps if self.path else key == jax.tree_util.SequenceKey(0)
        return dataclasses.replace(self, path=f"{self.path}{key}", called=called)


class _Parted(Exception):
    """The structures differ here."""

    def __init__(self, here: _Here, text: str) -> None:
        self.mismatch = Mismatch(here.path.lstrip("."), text)
        super().__init__(text)


class _Walk:
    """Collects matches while both pytrees are walked."""

    def __init__(self, first: Any, *, classes: bool = False, common: bool = False) -> None:
        self.classes, self.common = classes, common
        self.traced: frozenset[Any] | None = None if classes else frozenset(_classes(first))
        self.names: dict[int, str] = {}
        self.layers: dict[int, int | None] = {}
        self.sources: dict[int, list[int]] = {}
        self.leads: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self.statics: list[Mismatch] = []
        self.stacks: list[int] = []

    def visit(self, before: Any, after: Any, here: _Here) -> None:
        with contextlib.suppress(*((_Parted,) if self.common else ())):
            self._visit(before, after, here)

    def _visit(self, before: Any, after: Any, here: _Here) -> None:
        if is_stack(after) and type(before) is not type(after):
            self._stack(before, after, here)
        elif isinstance(before, Slot) or isinstance(after, Slot):
            self._array(before, after, here)
        elif isinstance(before, eqx.Module) and isinstance(after, eqx.Module):
            self._module(before, after, here)
        else:
            self._node(before, after, here)

    def _array(self, before: Any, after: Any, here: _Here) -> None:
        if not (isinstance(before, Slot) and isinstance(after, Slot)):
            found = [show_aval(v.aval) if isinstance(v, Slot) else _kind(v) for v in (before, after)]
            raise _Parted(here, f"{found[0]} in the original, {found[1]} in the rewritten version")
        lead = tuple(after.aval.shape[axis] for axis in after.axes)
        if (before.shape, before.aval.dtype) != (after.shape, after.aval.dtype):
            wanted = Recipe((), lead, after.axes).with_lead(before.shape, lead)
            stacked = f" (stacked {'x'.join(map(str, lead))})" if lead else ""
            expected = f"{before.aval.dtype}{list(wanted)}{stacked}"
            raise _Parted(here, f"expected {expected}, the rewritten version has {show_aval(after.aval)}")
        sources = self.sources.setdefault(after.index, [])
        if len(sources) != (np.ravel_multi_index(after.at, lead) if lead else 0):
            text = "an array of its own in the original, one that layers share in the rewritten version"
            raise _Parted(here, text)
        sources.append(before.index)
        self.names[before.index] = here.path.lstrip(".")
        self.layers[before.index] = here.layer
        self.leads[after.index] = lead, after.axes

    def _stack(self, before: Any, after: ArrayStacked[Any] | BlockSeq[Any], here: _Here) -> None:
        """Match the layers of a list with a stack: each array stacks the layers that have it, in order."""
        kind = "stack" if isinstance(after, ArrayStacked) else "sequence"
        layers = _elements(before)
        if layers is None:
            raise _Parted(here, f"{_kind(before)} in the original, a {kind} of layers in the rewritten version")
        if len(layers) != len(after):
            text = f"{len(layers)} layers in the original, a {kind} of {len(after)} in the rewritten version"
            raise _Parted(here, text)
        if isinstance(after, ArrayStacked):
            self.stacks.append(len(layers))
        try:
            others = layers_of(after)
        except ValueError as error:
            raise _Parted(here, str(error)) from None
        for i, (layer, other) in enumerate(zip(layers, others, strict=True)):
            index = i if here.layer is None else here.layer
            self.visit(layer, other, _Here(f"{here.path}[{i}]", index))

    def _module(self, before: eqx.Module, after: eqx.Module, here: _Here) -> None:
        self._types(before, after, here)
        if isinstance(after, ArrayStacked):
            self.stacks.append(after.num_layers)
        fields = [{f.name: f for f in dataclasses.fields(m) if hasattr(m, f.name)} for m in (before, after)]
        if fields[0].keys() != fields[1].keys() and not self.common:
            odd = sorted(fields[0].keys() ^ fields[1].keys())
            where = "the original" if odd[0] in fields[0] else "the rewritten version"
            raise _Parted(here, f"the field `{odd[0]}` is only in {where}")
        for name, field in ((name, field) for name, field in fields[0].items() if name in fields[1]):
            values = getattr(before, name), getattr(after, name)
            if field.metadata.get("static", False):
                self._static(*values, here.at(f".{name}", before))
            else:
                self.visit(*values, here.at(f".{name}", before))

    def _node(self, before: Any, after: Any, here: _Here) -> None:
        nodes = [one_level(v) for v in (before, after)]
        if nodes[0] is None and nodes[1] is None:
            self._static(before, after, here)
            return
        self._types(before, after, here)
        children, aux = zip(*(node for node in nodes if node is not None), strict=True)
        whole = self.classes and isinstance(before, dict)  # callers see its order, and jax sorts it
        keys = [[str(key) for key, _ in found] for found in ((before.items(), after.items()) if whole else children)]
        if keys[0] != keys[1]:
            raise _Parted(here, f"keys {_listed(keys[0])} in the original, {_listed(keys[1])} in the rewritten version")
        if type(before) not in (list, tuple, dict):
            self._static(aux[0], aux[1], here)
        layered = here.layer is None and _is_layers(before)
        for i, ((key, first), (_, second)) in enumerate(zip(*children, strict=True)):
            inner = here.at(key, before)
            self.visit(first, second, dataclasses.replace(inner, layer=i) if layered else inner)

    def _types(self, before: Any, after: Any, here: _Here) -> None:
        _same_type(before, after, here)
        if self.classes:
            self._static(type(before), type(after), here)

    def _static(self, before: Any, after: Any, here: _Here) -> None:
        traced = self.traced | {unwrapped(before)} if self.traced is not None and here.called else self.traced
        found = difference(before, after, traced)
        if found is not None:
            self.statics.append(Mismatch(f"{here.path}{found.path}".lstrip("."), found.text, found.certain))


def _classes(tree: Any) -> Iterator[type]:
    """Yield the classes of the modules in a pytree, and their bases: their computations are traced."""
    node = one_level(tree)
    if isinstance(tree, eqx.Module):
        yield from type(tree).__mro__
    for _, child in node[0] if node is not None else ():
        yield from _classes(child)


def _same_type(before: Any, after: Any, here: _Here) -> None:
    names = qualified(type(before)), qualified(type(after))
    if names[0] != names[1]:
        raise _Parted(here, f"{_kind(before)} in the original, {_kind(after)} in the rewritten version")


def one_level(value: Any) -> tuple[list[tuple[Any, Any]], Any] | None:
    """Return the children with keys, and the auxiliary data, of a pytree node; None for a leaf, and for None itself."""
    if value is None:
        return None
    node = jax.tree_util.default_registry.flatten_one_level_with_keys(value)
    return None if node is None else (list(node[0]), node[1])


def _elements(value: Any) -> Sequence[Any] | None:
    """Return the layers of a container, in the order of a traced program (jax sorts the keys of a dict)."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, eqx.nn.Sequential):
        return list(value.layers)
    return None


def _is_layers(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(v, eqx.Module) for v in value)


def _listed(keys: Sequence[str]) -> str:
    return f"[{', '.join(keys[:6])}{', ...' if len(keys) > 6 else ''}] ({len(keys)})"


def _kind(value: Any) -> str:
    if isinstance(value, Slot):
        return show_aval(value.aval)
    if isinstance(value, eqx.Module | list | tuple | dict):
        return f"a {type(value).__qualname__}"
    return show_value(value)
