"""`ArrayStacked`: equal layers stored stacked, applied one after another by a scan."""

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.arguments.axes import InAxes, parameter_names, split_arguments
from scanify.nn.arguments.constructor_arguments import constructor_arguments
from scanify.nn.arguments.layer_inputs import Ref, rows_of
from scanify.nn.block_seq import BlockSeq
from scanify.nn.checks.named_layer import named_layer
from scanify.nn.layer_axis import Shapes, layer_axes, layers_first, moved, shapes_of
from scanify.nn.layer_sequence import LayerSequence
from scanify.nn.list_manners import position_of
from scanify.nn.padding import padded, repeated_last
from scanify.nn.programs.build_rows import build_rows
from scanify.nn.programs.built_alike import refuse_built_unlike
from scanify.nn.programs.eager import applied
from scanify.nn.programs.layer_call import Call
from scanify.nn.scans.checkpoint import UNROLLED, RematPolicy, ScanCheckpointPolicy, effective_policy
from scanify.nn.scans.loop import Unroll, first_of, run_scan
from scanify.nn.stacking import (
    as_one_layer,
    differ_in_arrays,
    is_stacked,
    stack_layers,
    take_layers,
    take_traced,
    with_own_numbers,
)
from scanify.nn.trees.as_jax import as_jax
from scanify.nn.trees.boxed import unboxed
from scanify.nn.trees.key_order import KeyOrder
from scanify.nn.trees.leaves import has_aval, is_array, is_numpy
from scanify.nn.trees.own_numbers import OwnNumbers, own
from scanify.nn.trees.rows import rows
from scanify.nn.trees.stack_leaves import stack_leaves
from scanify.nn.trees.structs import row_struct, struct

M = TypeVar("M", bound=eqx.Module)
B = TypeVar("B", bound=eqx.Module)  # for functions that build a stack: type checkers leave a class's own variable open


def _of_none(gradient_checkpointing: RematPolicy) -> Any:
    """Return an empty sequence: an `ArrayStacked` has at least one layer."""
    return BlockSeq((), (), (), (), gradient_checkpointing)


class ArrayStacked(LayerSequence[M]):
    """A sequence of layers that differ only in the values of their arrays, applied by a scan.

    The program that `jax.jit` compiles contains one layer, however many there are. The interface is that of
    `haliax.nn.ArrayStacked` (marin-community/marin, lib/haliax/src/haliax/nn/array_stacked.py), with these differences:
    static fields and plain numbers are compared instead of taken from layer 0, per-layer arguments are marked by
    `in_axes` and never by their shape, and the parameters are scanned over instead of being indexed in the body.

    To the rest of a program it is a sequence: `len(stack)`, `stack[3]`, `stack[1:]` and `for layer in stack` give
    layers, and `stack.with_layer(3, layer)` returns a stack with one layer replaced.

    Optimisers see the leaves as they are stored: **stacked**. Optimisers that treat each entry by itself (SGD, Adam)
    compute the same as for a list; those that treat a leaf as a whole do not: norms of a leaf (LARS, LAMB, clipping by
    the norm of each leaf), factored moments and matrices (Adafactor, Shampoo, Muon), masks and labels by shape or name.
    `scanify.optim.per_layer(optimiser)` passes them the layers one by one, with masks and labels as for a list.

    **Fields:**

    - `stacked`: one layer, each array leaf of shape `(num_layers, ...)`. A Python number that has a gradient (a field
        `scale: float`) is stored once per layer, as an `OwnNumbers`, so that each can be trained by itself. In an
        ensemble, a model whose constructor is mapped by `equinox.filter_vmap`, the arrays have shape
        `(members, num_layers, ...)`, and layers have arrays of shape `(members, ...)`, as in a list.
    - `num_layers`: the number of layers.
    - `gradient_checkpointing`: the remat policy: True ("full"), False, "nested", "dots", "offload", "save_all" or a
        `ScanCheckpointPolicy`.
    """

    stacked: M
    num_layers: int = eqx.field(static=True)
    gradient_checkpointing: RematPolicy = eqx.field(static=True, default=True)
    level: int = eqx.field(static=True, default=0, repr=False)
    shapes: Shapes = eqx.field(static=True, default=Shapes(), repr=False)

    def __init__(
        self,
        stacked: M,
        num_layers: int,
        gradient_checkpointing: RematPolicy = True,
        level: int | None = None,
        shapes: Shapes | None = None,
    ) -> None:
        """Wrap a module whose arrays have the layers along axis 0, or along the axes recorded in `shapes`.

        `level` distinguishes nested stacks; None computes it.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        if isinstance(num_layers, bool) or not isinstance(num_layers, int) or num_layers < 1:
            raise ValueError(f"expected `num_layers` to be a number of layers, at least one, got {num_layers!r}")
        if level is None:
            stacked, level = with_own_numbers(stacked, num_layers)
        self.stacked, self.num_layers, self.level = stacked, num_layers, level
        self.gradient_checkpointing = gradient_checkpointing
        self.shapes = shapes_of(stacked, is_leaf=own(level)) if shapes is None else shapes

    @staticmethod
    def of(layers: Iterable[B], *, gradient_checkpointing: RematPolicy = True) -> "ArrayStacked[B]":
        """Stack layers that are already built. Without layers, return an empty `BlockSeq`, the identity, like an empty
        loop.

        **Arguments:**

        - `layers`: Equinox modules that differ only in the values of their arrays.
        - `gradient_checkpointing`: the remat policy, see `ScanCheckpointPolicy`.

        **Raises** ValueError naming the key path, the layers and both values if layers differ in anything else (a
        static field, a plain number, a shape or dtype), and if a layer or an array is shared; TypeError if an element
        is not a module.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        built = list(layers)
        del layers  # a list built for this call is freed, and so are its layers once they are stacked
        count = len(built)
        if not count:
            none: ArrayStacked[B] = _of_none(gradient_checkpointing)
            return none
        return padded(ArrayStacked(stack_layers(built), count, gradient_checkpointing))

    @staticmethod
    def init(
        num_layers: int,
        module: type[B],
        gradient_checkpointing: RematPolicy = True,
        *,
        in_axes: InAxes | Literal["by shape", "keys"] = "by shape",
    ) -> Callable[..., "ArrayStacked[B]"]:
        """Build the layers directly as a stack, by a scan: `ArrayStacked.init(12, Block)(config, key=keys)`.

        `module.init` is called if it is a static or class method, as in haliax, and the class itself otherwise.
        `in_axes` selects the arguments that have the layers along an axis, as in `fold_via`. "by shape" is haliax's
        rule: arrays whose first axis has `num_layers` entries give each layer its own entry, and all others are shared
        by all layers; it mistakes a shared array that happens to have that size. With "keys" only PRNG keys are per
        layer, and everything else is shared. With both, a list of `num_layers` keys gives each layer its own, too.

        The layers equal those of a loop, with keys of any generator, and building them needs the memory of the stack
        and of the arguments of one layer. The layers are built in one trace, so their non-array leaves are all the
        same.

        **Raises** ValueError if a PRNG key is not given per layer (all layers would have the same initial weights), and
        if `module` builds different layers from the same arguments.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        try:
            count = operator.index(num_layers)
        except TypeError:
            raise TypeError(f"expected `num_layers` to be an integer, got {num_layers!r}") from None
        if count < 0:
            raise ValueError(f"expected a number of layers, got num_layers={count}")
        if count == 0:
            return lambda *args, **kwargs: _of_none(gradient_checkpointing)
        own = inspect.getattr_static(module, "init", None)
        make: Callable[..., B] = module.init if isinstance(own, staticmethod | classmethod) else module

        def build(*args: Any, **kwargs: Any) -> "ArrayStacked[B]":
            given, rebuild = constructor_arguments(args, kwargs, in_axes, count, parameter_names(make, 0))

            if count > 1:
                refuse_built_unlike(lambda part: make(*rebuild(part)[0], **rebuild(part)[1]), given)
            # Values that are not jax arrays are the same in all layers, which are traced once: numpy arrays are stacked
            # as numpy, since they are not trained.
            others: list[Any] = []

            def one(given: Any) -> Any:
                args, kwargs = rebuild(given)
                arrays, other = eqx.partition(make(*args, **kwargs), is_array)
                fixed, arrays = eqx.partition(arrays, is_numpy)
                others[:] = [jax.tree.map(lambda leaf: stack_leaves([leaf] * count), fixed), other]
                return arrays

            stacked: B = eqx.combine(build_rows(one, jax.tree.map(jnp.asarray, given), count), *others)
            return padded(ArrayStacked(stacked, count, gradient_checkpointing))

        return build

    def unrolled(self) -> "ArrayStacked[M]":
        """Return the same layers, applied by the Python loop: see `LayerSequence.unrolled`."""
        return ArrayStacked(self.stacked, self.num_layers, UNROLLED, self.level, self.shapes)

    # -- applying the layers ----------------------------------------------------------------------------------------

    def _scanned(
        self, fn: Call, names: Sequence[str], in_axes: InAxes, unroll: Unroll, reverse: bool, *, listed: bool | None
    ) -> Callable[..., Any]:
        def scanned(stack: ArrayStacked[M], init: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
            policy = type(stack)._remat(stack)
            if policy.unrolled:
                options: dict[str, Any] = {"in_axes": in_axes, "names": names, "reverse": reverse}
                called = type(stack)._called(stack, fn, init, args, kwargs, **options)
                return type(stack)._outcome(stack, called, unroll, listed)
            parameters, with_arrays = type(stack)._parameters(stack)
            xs, rebuild = split_arguments(args, kwargs, in_axes, self.num_layers, names=names)

            order = KeyOrder(init)

            def body(carry: Any, x: Any) -> tuple[Any, Any]:
                layer_args, layer_kwargs = rebuild(x[1])
                layer = with_arrays(x[0])
                with named_layer(layer, f"the one layer that stands for {self.num_layers}"):
                    out = fn(layer, order.given(carry), *layer_args, **layer_kwargs)
                return order.taken(out[0]), out[1]

            xs = jax.tree.map(as_jax, (parameters, xs))
            carry, ys = run_scan(body, init, xs, self.num_layers, policy=policy, unroll=unroll, reverse=reverse)
            order.check(body, init, first_of(xs))
            return order.last(carry), _in_a_list(ys, self.num_layers) if listed else ys

        return lambda init, /, *args, **kwargs: applied(scanned, self, init, args, kwargs, in_axes)

    def _parameters(self) -> tuple[Any, Callable[[Any], M]]:
        """Return the stacked arrays, and a function that builds a layer from the arrays of one layer."""
        parameters, static = eqx.partition(as_one_layer(type(self)._layers_first(self), self.level), is_stacked)
        return parameters, lambda arrays: eqx.combine(arrays, static)

    def _layers_first(self) -> M:
        """Return `stacked` with the layers along axis 0 of each array, followed by axes that were added to the whole
        stack.

        **Raises** ValueError if the layer axis of an array is unknown, or its size is not `num_layers`.
        """
        stacked: M = layers_first(self.stacked, self.shapes, self.num_layers, own(self.level))
        return stacked

    def _axes(self) -> list[int | None]:
        return layer_axes(self.stacked, self.shapes, own(self.level))

    def _remat(self) -> ScanCheckpointPolicy:
        return effective_policy(self.gradient_checkpointing)

    def _refs(self) -> list[M]:
        parameters, with_arrays = type(self)._parameters(self)
        rows = range(self.num_layers)
        return [with_arrays(jax.tree.map(lambda array, row=row: Ref(array, row), parameters)) for row in rows]

    # -- a sequence of layers ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.num_layers

    def get_layer(self, index: Any) -> M:
        """Return layer `index` as its own module. Negative indices count from the end; IndexError beyond the ends.

        A traced index works too: it is clamped to the ends, as usual in jax.
        """
        if isinstance(index, jax.core.Tracer):
            return take_traced(type(self)._layers_first(self), index, self.level)
        return super().get_layer(index)

    def _take(self, positions: Sequence[int]) -> list[M]:
        return take_layers(type(self)._layers_first(self), positions, self.level)

    def _chosen(self, positions: Sequence[int]) -> LayerSequence[M]:
        if not positions:
            none: LayerSequence[M] = _of_none(self.gradient_checkpointing)
            return none
        type(self)._layers_first(self)  # checks that all layers are there
        at, mine = np.array(positions), own(self.level)

        def choose(node: Any, axis: int | None) -> Any:
            if mine(node):
                return node.taken(positions)
            if axis is None:
                return node
            whole = moved(node, axis, 0)
            if isinstance(node, jax.ShapeDtypeStruct):
                return moved(stack_leaves([row_struct(whole)] * len(positions)), 0, axis)
            return moved(rows_of(whole, at), 0, axis)

        nodes, treedef = jax.tree.flatten(self.stacked, is_leaf=mine)
        axes = type(self)._axes(self)
        chosen = treedef.unflatten(map(choose, nodes, axes))
        shapes = shapes_of(chosen, axes, mine, like=self.shapes)
        return ArrayStacked(chosen, len(positions), self.gradient_checkpointing, self.level, shapes)

    def _padded(self, length: int) -> LayerSequence[M]:
        return type(self)._chosen(self, repeated_last(self.num_layers, length))

    def with_layers(self, layers: Sequence[M]) -> "ArrayStacked[M]":
        """Return this stack with the leaves of `layers`, one for each position, which differ in no more than arrays.

        **Raises** ValueError if there are more or fewer of them, or if they differ in anything else.
        """
        if len(layers) != self.num_layers:
            raise ValueError(f"expected {self.num_layers} layers, got {len(layers)}")
        columns = [jax.tree.leaves(layer) for layer in differ_in_arrays(layers)]
        mine = own(self.level)
        nodes, treedef = jax.tree.flatten(self.stacked, is_leaf=mine)
        if any(len(column) != len(nodes) for column in columns):
            raise ValueError(f"expected layers with {len(nodes)} leaves, as those of the stack, got {len(columns[0])}")
        axes = type(self)._axes(self)
        added = next((axis for axis in axes if axis is not None), 0)
        filled: list[Any] = []
        for at, (node, *column) in enumerate(zip(nodes, *columns, strict=True)):
            if mine(node):
                filled.append(OwnNumbers(column, self.level))
            elif has_aval(column[0]):
                axes[at] = added if axes[at] is None else axes[at]
                filled.append(moved(stack_leaves(column), 0, axes[at] or 0))
            else:
                filled.append(column[0])
        stacked = treedef.unflatten(filled)
        shapes = shapes_of(stacked, axes, mine, like=self.shapes)
        return ArrayStacked(stacked, self.num_layers, self.gradient_checkpointing, self.level, shapes)

    def with_layer(self, index: Any, layer: M) -> "ArrayStacked[M]":
        """Return this stack with the layer at `index` replaced by one that differs from it in arrays only.

        **Raises** ValueError if it differs in anything else: `BlockSeq` holds layers of any kind.
        """
        layers = self._take(range(self.num_layers))
        layers[position_of(self, index)] = layer
        return self.with_layers(layers)

    def _outlines(self) -> Iterable[M]:
        shapes: M = jax.tree.map(lambda leaf: struct(leaf) if has_aval(leaf) else leaf, self.stacked)
        first = layers_first(shapes, self.shapes.marked(), self.num_layers, own(self.level))
        return take_layers(first, [0], self.level)

    def __repr__(self) -> str:
        layer = eqx.tree_pformat(*self._outlines(), struct_as_array=True)
        return f"ArrayStacked({self.num_layers} x {layer}, gradient_checkpointing={self.gradient_checkpointing!r})"


def _in_a_list(ys: Any, count: int) -> list[Any]:
    """Split stacked ys by layer; numbers and dicts are restored."""
    arrays, rest = eqx.partition(ys, is_array)
    leaves, treedef = jax.tree.flatten(arrays)
    columns = [rows(leaf, range(count)) for leaf in leaves]
    each = [treedef.unflatten([column[at] for column in columns]) for at in range(count)]
    return [unboxed(eqx.combine(row, rest)) for row in each]
