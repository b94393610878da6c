"""`BlockSeq`: a sequence of layers that need not be equal, of which what is equal is applied by scans."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import equinox as eqx
import jax

from scanify.nn.array_stacked import ArrayStacked
from scanify.nn.axes import InAxes, parameter_names
from scanify.nn.boxed import unboxed
from scanify.nn.checkpoint import RematPolicy, ScanCheckpointPolicy, effective_policy
from scanify.nn.cover import cheapest_cover
from scanify.nn.describe import describe
from scanify.nn.layer_call import Call, TracedCall, as_boxed_pair, as_pair, as_scan, trace_call
from scanify.nn.layer_inputs import Ref
from scanify.nn.layer_programs import Kinds
from scanify.nn.layer_sequence import LayerSequence, M
from scanify.nn.layer_store import Place, Store, check_stacks, fill, restack, store
from scanify.nn.leaves import has_aval
from scanify.nn.loop import Unroll
from scanify.nn.stacking import without_layers


class BlockSeq(LayerSequence[M]):
    """A sequence of layers, each of which may be of its own kind, applied as a Python loop applies them.

    What a loop computes is what it computes. Layers that are equal are scanned over: all of them, or in periods (five
    local, one global, and again), or in segments (three dense, 58 with experts); what remains is applied in sequence.
    So the traced program grows with the number of layers that differ.

    Two layers are equal where they are traced to the same program, for the carry and the arguments of the call: a
    field that is not read does not separate them, nor does a function made anew for each, nor a drop rate under
    inference. Numbers that stand in the program as operands may differ, as drop rates do in training: they become
    arrays. So may arrays that each layer reads from around the function, such as those of `self.norms[i]`: they are
    stacked for the call. Each layer whose fields differ is traced once for each call that is traced, in the order of
    the loop, whatever is scanned over later; prints and other effects of tracing happen then.

    The interface is that of `ArrayStacked`, and so is the form of its arrays: **stacked**. Arrays of layers of the
    same class with arrays of the same shapes are stacked along a leading axis, in the order of the sequence, whether
    or not the layers turn out to be equal in a call. Where they do not, a call takes the stack apart again: a copy.

    A layer that stands in the sequence more than once (`[block] * 12`) is kept once, and so is an array that several
    layers hold: its gradient is the sum over its places, and it stays one after an update. In a list, the copies of an
    Equinox module would come apart at the first update.

    **Fields:**

    - `stacks`: the stacked arrays under their names (`stacks[0].linear.weight`), one for each set of shapes.
    - `rests`: the layers without those arrays, each object once. A `StateIndex` is kept here in one piece.
    - `places`, `order`: which arrays belong to which layer, and which layer stands at each position.
    - `gradient_checkpointing`: the remat policy, see `ScanCheckpointPolicy`; single layers are rematted too.
    """

    stacks: tuple[Any, ...]
    rests: tuple[Any, ...]
    places: tuple[Place, ...] = eqx.field(static=True)
    order: tuple[int, ...] = eqx.field(static=True)
    gradient_checkpointing: bool | str | ScanCheckpointPolicy = eqx.field(static=True, default=True)

    @staticmethod
    def of(layers: Iterable[M], *, gradient_checkpointing: RematPolicy = True) -> "BlockSeq[M]":
        """A sequence of layers that have been built: modules, functions, or tuples, lists and dicts of such.

        Of no layers at all it is the identity, as a loop over them is.

        **Raises** TypeError where an element is something else; ValueError where layers share an array that has
        another place in each.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        kept = store(list(layers))
        return BlockSeq(kept.stacks, kept.rests, kept.places, kept.order, gradient_checkpointing)

    def describe(self) -> str:
        """What is found where fields and leaves alone are compared: `48 layers: 8 x (5 x Local + Global)`.

        In one call more layers may be equal, see `describe_via`.
        """
        kinds = Kinds()
        return self._in_words(tuple(map(kinds.of, self._outlines())))

    def describe_via(self, fn: Callable[..., Any], *, in_axes: InAxes = None) -> Callable[..., str]:
        """What `fold_via(fn, in_axes=in_axes)` scans over for the given carry and arguments, in words."""

        def run(init: Any, /, *args: Any, **kwargs: Any) -> str:
            traced = self._trace(as_scan(fn), init, args, kwargs, in_axes=in_axes, names=parameter_names(fn, 2))
            return self._in_words(traced.kinds)

        return run

    def _in_words(self, kinds: tuple[int, ...]) -> str:
        text = describe(cheapest_cover(kinds), kinds, self._outlines())
        again = len(self.order) - len(set(self.order))
        return text + (f"; {again} of them stand at an earlier position too" if again else "")

    # -- applying the layers ----------------------------------------------------------------------------------------

    def fold_via(
        self, fn: Callable[..., Any], *, in_axes: InAxes = None, unroll: Unroll = None, reverse: bool = False
    ) -> Callable[..., Any]:
        """`for layer in layers: carry = fn(layer, carry, *args, **kwargs)`, as a function of the carry and arguments.

        `in_axes` is that of `ArrayStacked.fold_via`. With axis 0 a list has one element for each layer, which may
        differ in shape and structure. The carry may change its shape and dtype from layer to layer.
        """

        def run(init: Any, /, *args: Any, **kwargs: Any) -> Any:
            names = parameter_names(fn, 2)
            traced = self._trace(as_scan(fn), init, args, kwargs, in_axes=in_axes, names=names, reverse=reverse)
            return traced.apply(self._remat(), unroll)[0]

        return run

    def scan_via(
        self,
        fn: Callable[..., tuple[Any, Any]],
        *,
        in_axes: InAxes = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[..., tuple[Any, Any]]:
        """Like `fold_via` for functions that give `(carry, y)`: the last carry, and the ys stacked along axis 0.

        **Raises** ValueError where layers give ys that cannot be stacked.
        """

        def run(init: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            names = parameter_names(fn, 2)
            traced = self._trace(as_pair(fn), init, args, kwargs, in_axes=in_axes, names=names, reverse=reverse)
            carry, pieces = traced.apply(self._remat(), unroll)
            return carry, traced.stacked(pieces)

        return run

    def collect_via(
        self,
        fn: Callable[..., tuple[Any, Any]],
        *,
        in_axes: InAxes = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[..., tuple[Any, list[Any]]]:
        """Like `scan_via`, with the ys in a list, one for each layer in the order of the sequence.

        They may be of any structures and shapes. Python numbers, strings and None stay what they are.
        """

        def run(init: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
            names = parameter_names(fn, 2)
            traced = self._trace(as_boxed_pair(fn), init, args, kwargs, in_axes=in_axes, names=names, reverse=reverse)
            carry, pieces = traced.apply(self._remat(), unroll)
            return carry, [unboxed(y) for y in traced.collected(pieces)]

        return run

    def vmap_via(self, fn: Callable[..., Any], *, in_axes: InAxes = None, out_axes: Any = 0) -> Callable[..., Any]:
        """`[fn(layer, *args, **kwargs) for layer in layers]`, the results stacked along `out_axes`.

        Equal layers are applied by one `jax.vmap`, wherever they stand.
        """

        def call(layer: Any, carry: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            return carry, fn(layer, *args, **kwargs)

        def run(*args: Any, **kwargs: Any) -> Any:
            traced = self._trace(call, None, args, kwargs, in_axes=in_axes, names=parameter_names(fn, 1))
            return jax.vmap(lambda y: y, out_axes=out_axes, axis_size=len(self))(traced.mapped())

        return run

    def _remat(self) -> ScanCheckpointPolicy:
        return effective_policy(self.gradient_checkpointing)

    def _refs(self) -> list[M]:
        check_stacks(self.stacks, self.places)
        return self.with_arrays(Ref)

    def _trace(
        self, call: Call, init: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any
    ) -> TracedCall:
        check_stacks(self.stacks, self.places)
        return trace_call(call, init, args, kwargs, layers=self.with_arrays(Ref), layers_of=_layers_of, **options)

    def with_arrays(self, make: Callable[..., Any]) -> list[Any]:
        """The layer at each position, with `make(stacked array, row)` in place of its arrays.

        `row` is None for arrays that are not stacked, as those of a `StateIndex`.
        """
        stacks = [jax.tree.leaves(stack) for stack in self.stacks]
        built = []
        for rest, place in zip(self.rests, self.places, strict=True):
            arrays = zip(stacks[place.stack], place.rows, strict=True)
            others = jax.tree.map(lambda leaf: make(leaf, None) if has_aval(leaf) else leaf, rest)
            built.append(fill(others, [make(array, row) for array, row in arrays]))
        return [built[which] for which in self.order]

    # -- a sequence of layers ---------------------------------------------------------------------------------------

    def _outlines(self) -> list[M]:
        return self.with_arrays(lambda array, row: Ref(array, row).struct())

    def __len__(self) -> int:
        return len(self.order)

    def _take(self, positions: Iterable[int]) -> list[M]:
        check_stacks(self.stacks, self.places)
        taken = [self.order[position] for position in positions]
        built = {which: self._layer(which) for which in dict.fromkeys(taken)}
        return [built[which] for which in taken]

    def _chosen(self, positions: Sequence[int]) -> "BlockSeq[M]":
        order = tuple(self.order[position] for position in positions)
        return BlockSeq(self.stacks, self.rests, self.places, order, self.gradient_checkpointing)

    def with_layers(self, layers: Sequence[M]) -> "BlockSeq[M]":
        """This sequence with the arrays of `layers`, which have the structure and shapes of those at each position.

        **Raises** ValueError where layers that are one layer here, or that share an array here, are given other arrays.
        """
        kept = restack(Store(self.stacks, self.rests, self.places, self.order), layers)
        return BlockSeq(kept.stacks, kept.rests, self.places, self.order, self.gradient_checkpointing)

    def _layer(self, which: int) -> M:
        place = self.places[which]
        arrays = jax.tree.leaves(self.stacks[place.stack])
        layer: M = fill(self.rests[which], [_row(array, row) for array, row in zip(arrays, place.rows, strict=True)])
        return layer

    def __repr__(self) -> str:
        return f"BlockSeq({self.describe()}, gradient_checkpointing={self.gradient_checkpointing!r})"


def _layers_of(value: Any) -> Any:
    """The layers of an argument that is a sequence of layers itself: `zip(self.layers, self.norms)`."""
    return list(value) if isinstance(value, ArrayStacked | BlockSeq) else None


def _row(array: Any, row: int) -> Any:
    return without_layers(array) if isinstance(array, jax.ShapeDtypeStruct) else array[row]
