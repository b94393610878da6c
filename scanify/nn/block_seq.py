"""`BlockSeq`: a sequence of layers that need not be equal; equal ones are applied by scans."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np

from scanify.nn.arguments.axes import InAxes, parameter_names
from scanify.nn.arguments.layer_inputs import Ref
from scanify.nn.covers.cover import cheapest_cover
from scanify.nn.covers.describe import describe
from scanify.nn.layer_axis import Shapes, layer_axes, layers_first, moved, shapes_of
from scanify.nn.layer_sequence import LayerSequence
from scanify.nn.layer_store import Place, Places, Store, check_stacks, entries, fill, restack, store
from scanify.nn.list_manners import L, position_of
from scanify.nn.padding import padded, repeated_last
from scanify.nn.programs.eager import applied
from scanify.nn.programs.layer_call import Call, as_scan, trace_call
from scanify.nn.programs.layer_programs import Kinds
from scanify.nn.scans.checkpoint import UNROLLED, RematPolicy, ScanCheckpointPolicy, effective_policy
from scanify.nn.scans.loop import Unroll

B = TypeVar("B")


class BlockSeq(LayerSequence[L]):
    """A sequence of layers, each of any kind, applied with the result of a Python loop.

    Equal layers are scanned over: all of them, or in periods (five local, one global, repeated), or in segments (three
    dense, 58 with experts); the rest is applied in sequence. So the traced program grows with the number of layers that
    differ.

    Two layers are equal if they are traced to the same program, for the carry and the arguments of the call: fields
    that are not read do not matter, nor do functions created per layer, nor a drop rate under inference. Numbers that
    are operands in the program may differ, such as drop rates in training: they become arrays. So may arrays that each
    layer reads from around the function, such as `self.norms[i]`: they are stacked for the call. Each layer whose
    fields differ is traced once per traced call, in the order of the loop, whatever is scanned over later; prints and
    other effects of tracing happen then.

    The interface is that of `ArrayStacked`, and its arrays are **stacked** in the same way. Arrays of layers of the
    same class with arrays of the same shapes are stacked along a leading axis, in the order of the sequence, whether or
    not a call finds the layers to be equal. If it does not, it splits the stack, which is a copy.

    Optimisers see the leaves as they are stored: **stacked**. Optimisers that treat each entry by itself (SGD, Adam)
    compute the same as for a list; those that treat a leaf as a whole do not: norms of a leaf (LARS, LAMB, clipping by
    the norm of each leaf), factored moments and matrices (Adafactor, Shampoo, Muon), masks and labels by shape or name.
    `scanify.optim.per_layer(optimiser)` passes them the layers one by one, with masks and labels as for a list.

    A layer that occurs more than once in the sequence (`[block] * 12`), and an array that several layers hold, is
    copied to each position, as in the pytree of a list: the copies have gradients of their own, and diverge at the
    first update. To train one layer that is applied several times, store it once and apply it in a loop.

    **Fields:**

    - `stacks`: the stacked arrays under their names (`stacks[0].linear.weight`), one for each set of shapes.
    - `rests`: the layers without those arrays. A `StateIndex` is kept here in one piece.
    - `places`, `order`: the arrays of each layer, and the layer at each position.
    - `gradient_checkpointing`: the remat policy, see `ScanCheckpointPolicy`; single layers are rematted too.
    """

    stacks: tuple[Any, ...]
    rests: tuple[Any, ...]
    places: Places = eqx.field(static=True, converter=Places)
    order: tuple[int, ...] = eqx.field(static=True)
    gradient_checkpointing: RematPolicy = eqx.field(static=True, default=True)
    level: int = eqx.field(static=True, default=0, repr=False)
    shapes: Shapes = eqx.field(static=True, default=Shapes(), repr=False)

    def __check_init__(self) -> None:
        ScanCheckpointPolicy.of(self.gradient_checkpointing)

    @staticmethod
    def of(layers: Iterable[B], *, gradient_checkpointing: RematPolicy = True) -> "BlockSeq[B]":
        """Store layers that are already built: modules, functions, or tuples, lists and dicts of them.

        Without layers it is the identity, like an empty loop.

        **Raises** TypeError if an element is something else.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        built = list(layers)
        del layers  # a list built for this call is freed, and so are its layers once they are stacked
        kept = store(built)
        shapes = shapes_of(kept.stacks)
        made: BlockSeq[B] = BlockSeq(
            kept.stacks, kept.rests, kept.places, kept.order, gradient_checkpointing, kept.level, shapes
        )
        return padded(made)

    def describe(self) -> str:
        """Describe the equal layers, compared by fields and leaves alone: `48 layers: 8 x (5 x Local + Global)`.

        In a call more layers may be equal, see `describe_via`.
        """
        kinds = Kinds()
        return self._in_words(tuple(map(kinds.of, self._outlines())))

    def describe_via(self, fn: Callable[..., Any], *, in_axes: InAxes = None) -> Callable[..., str]:
        """Describe in words how `fold_via(fn, in_axes=in_axes)` scans, for a carry and arguments."""

        def run(init: Any, /, *args: Any, **kwargs: Any) -> str:
            refs, names = type(self)._refs(self), parameter_names(fn, 2)
            traced = trace_call(as_scan(fn), init, args, kwargs, layers=refs, in_axes=in_axes, names=names)
            return self._in_words(traced.kinds)

        return run

    def _in_words(self, kinds: tuple[int, ...]) -> str:
        text = describe(cheapest_cover(kinds), kinds, self._outlines())
        again = len(self.order) - len(set(self.order))
        return text + (f"; {again} of them stand at an earlier position too" if again else "")

    def unrolled(self) -> "BlockSeq[L]":
        """Return the same layers, applied by the Python loop: see `LayerSequence.unrolled`."""
        return dataclasses.replace(self, gradient_checkpointing=UNROLLED)

    # -- applying the layers ----------------------------------------------------------------------------------------

    def _scanned(
        self, fn: Call, names: Sequence[str], in_axes: InAxes, unroll: Unroll, reverse: bool, *, listed: bool | None
    ) -> Callable[..., Any]:
        def once(layers: BlockSeq[L], init: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
            options: dict[str, Any] = {"in_axes": in_axes, "names": names, "reverse": reverse}
            called = type(layers)._called(layers, fn, init, args, kwargs, **options)
            return type(layers)._outcome(layers, called, unroll, listed)

        return lambda init, /, *args, **kwargs: applied(once, self, init, args, kwargs, in_axes)

    def _remat(self) -> ScanCheckpointPolicy:
        return effective_policy(self.gradient_checkpointing)

    def _refs(self) -> list[L]:
        stacks = type(self)._layers_first(self)
        check_stacks(stacks, self.places)
        return type(self).with_arrays(self, Ref, stacks)

    def _layers_first(self) -> tuple[Any, ...]:
        """Return `stacks` with the layers along axis 0 of each array. Raises ValueError if their axis is unknown."""
        stacks: tuple[Any, ...] = layers_first(self.stacks, self.shapes)
        return stacks

    def with_arrays(self, make: Callable[..., Any], stacks: Sequence[Any]) -> list[Any]:
        """Return the layer at each position, with `make(stacked array, row)` in place of its arrays, from `stacks`.

        `row` is None for arrays that are not stacked, such as those of a `StateIndex`.
        """
        found = list(map(jax.tree.leaves, stacks))
        built = []
        for rest, place in zip(self.rests, self.places, strict=True):
            mine = [make(array, place.row) for array in found[place.stack]]
            built.append(fill(rest, mine, self.level, lambda leaf: make(leaf, None)))
        return [built[which] for which in self.order]

    # -- a sequence of layers ---------------------------------------------------------------------------------------

    def _outlines(self) -> list[L]:
        stacks = layers_first(self.stacks, self.shapes.marked())
        return type(self).with_arrays(self, lambda array, row: Ref(array, row).struct(), stacks)

    def __len__(self) -> int:
        return len(self.order)

    def _take(self, positions: Sequence[int]) -> list[L]:
        taken = [self.order[position] for position in positions]
        once = list(dict.fromkeys(taken))
        filled = entries(type(self)._layers_first(self), self.places, once)
        built = {which: fill(self.rests[which], own, self.level) for which, own in zip(once, filled, strict=True)}
        return [built[which] for which in taken]

    def _chosen(self, positions: Sequence[int]) -> "BlockSeq[L]":
        order = tuple(self.order[position] for position in positions)
        return dataclasses.replace(self, order=order)

    def _padded(self, length: int) -> "BlockSeq[L]":
        """Return this sequence with longer stacks, and one more layer for each: the last entry of its arrays."""
        one_of = {place.stack: which for which, place in enumerate(self.places)}
        rests = (*self.rests, *(self.rests[which] for which in one_of.values()))
        more = (Place(stack, length - 1, self.places[which].arrays) for stack, which in one_of.items())
        order = (*self.order, *range(len(self.rests), len(rests)))
        made = dataclasses.replace(self, rests=rests, places=Places((*self.places, *more)), order=order)
        longer = jax.tree.map(lambda array: array[np.array(repeated_last(len(array), length))], self.stacks)
        return type(made)._with_stacks(made, longer, [0] * len(jax.tree.leaves(longer)))

    def with_layer(self, index: Any, layer: Any) -> "BlockSeq[Any]":
        """Return this sequence with the layer at `index` replaced by one of any kind.

        In an ensemble the arrays of the layer have the axes of the members in front, as all layers have.
        """
        layers: list[Any] = list(self._take(range(len(self))))
        layers[position_of(self, index)] = layer
        made = BlockSeq.of(layers, gradient_checkpointing=self.gradient_checkpointing)
        added = set(layer_axes(self.stacks, self.shapes))
        axes = [*added] * len(jax.tree.leaves(made.stacks))
        if self.shapes.members_first:
            made = dataclasses.replace(made, shapes=made.shapes.marked())
        return type(made)._with_stacks(made, made.stacks, axes) if len(added) == 1 else made

    def with_layers(self, layers: Sequence[L]) -> "BlockSeq[L]":
        """Return this sequence with the arrays of `layers`, which have the structure and shapes of the layer at each
        position.

        **Raises** ValueError if positions that share one layer (see `take`) get different arrays.
        """
        kept = restack(Store(self.stacks, self.rests, self.places, self.order, self.level), layers)
        made = dataclasses.replace(self, rests=kept.rests)
        return type(made)._with_stacks(made, kept.stacks, layer_axes(self.stacks, self.shapes))

    def _with_stacks(self, stacks: Any, axes: Sequence[int | None]) -> "BlockSeq[L]":
        """Return this sequence with new stacks, whose layers are moved from axis 0 to these axes."""
        leaves, treedef = jax.tree.flatten(stacks)
        stacks = treedef.unflatten([moved(leaf, 0, axis or 0) for leaf, axis in zip(leaves, axes, strict=True)])
        return dataclasses.replace(self, stacks=stacks, shapes=shapes_of(stacks, axes, like=self.shapes))

    def __repr__(self) -> str:
        return f"BlockSeq({self.describe()}, gradient_checkpointing={self.gradient_checkpointing!r})"
