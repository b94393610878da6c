"""`ArrayStacked`: equal layers held as one, applied one after another by a scan."""

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.axes import InAxes, normal_axes, parameter_names, split_arguments
from scanify.nn.boxed import unboxed
from scanify.nn.carry import split
from scanify.nn.checkpoint import RematPolicy, ScanCheckpointPolicy, effective_policy
from scanify.nn.key_order import KeyOrder
from scanify.nn.layer_call import as_boxed_pair, as_pair
from scanify.nn.layer_inputs import Ref, rows_of
from scanify.nn.layer_sequence import LayerSequence, M
from scanify.nn.leaves import aval_text, is_array
from scanify.nn.loop import Unroll, first_of, run_scan
from scanify.nn.stacking import check_leading_axis, is_stacked, stack_layers, take_layer, without_layers


class ArrayStacked(LayerSequence[M]):
    """A sequence of layers that are equal but for the values of their arrays, and what applies them in a scan.

    The program that `jax.jit` compiles holds one layer, however many there are. The interface is that of
    `haliax.nn.ArrayStacked` (marin-community/marin, lib/haliax/src/haliax/nn/array_stacked.py); other than there,
    static fields and plain numbers are compared, not taken from layer 0, what is per layer is told by `in_axes` and
    never by a shape, and the parameters are scanned over instead of being indexed in the body.

    To the rest of a program it is a sequence: `len(stack)`, `stack[3]`, `stack[1:]`, `for layer in stack` give layers.

    **Fields:**

    - `stacked`: one layer, each array leaf of shape `(num_layers, ...)`.
    - `num_layers`: how many there are.
    - `gradient_checkpointing`: the remat policy: True ("full"), False, "nested", "dots", "offload", "save_all" or a
        `ScanCheckpointPolicy`.
    """

    stacked: M
    num_layers: int = eqx.field(static=True)
    gradient_checkpointing: bool | str | ScanCheckpointPolicy = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        ScanCheckpointPolicy.of(self.gradient_checkpointing)
        if isinstance(self.num_layers, bool) or not isinstance(self.num_layers, int) or self.num_layers < 1:
            raise ValueError(f"expected `num_layers` to be a number of layers, at least one, got {self.num_layers!r}")

    @staticmethod
    def of(layers: Iterable[M], *, gradient_checkpointing: RematPolicy = True) -> "ArrayStacked[M]":
        """Stack layers that have been built.

        **Arguments:**

        - `layers`: Equinox modules, at least one, that differ only in the values of their arrays.
        - `gradient_checkpointing`: the remat policy, see `ScanCheckpointPolicy`.

        **Raises** ValueError naming the key path, the layers and both values where layers differ in anything else (a
        static field, a plain number, a shape or dtype), where a layer or an array is shared, where there is no layer;
        TypeError where an element is no module.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        built = list(layers)
        return ArrayStacked(stack_layers(built), len(built), gradient_checkpointing)

    @staticmethod
    def init(
        num_layers: int,
        module: type[M],
        gradient_checkpointing: RematPolicy = True,
        *,
        in_axes: InAxes | Literal["by shape"] = "by shape",
    ) -> Callable[..., "ArrayStacked[M]"]:
        """Build the layers stacked, by one vmapped call: `ArrayStacked.init(12, Block)(config, key=jr.split(key, 12))`.

        `module.init` is called where it is a static or class method, as in haliax, and the class itself otherwise.
        `in_axes` says which arguments have the layers along an axis, as in `fold_via`. "by shape" is haliax's rule:
        arrays whose first axis has `num_layers` entries give each layer its own, all others are shared by all layers;
        it cannot know an array that is shared and happens to have that size.

        It gives the very layers of a loop with keys of the threefry generator, not with keys of rbg, whose vmap
        differs. The layers are built in one trace, so what is not an array is the same in all of them.

        **Raises** ValueError where a PRNG key is not given per layer: all layers would begin with the same weights.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        try:
            count = operator.index(num_layers)
        except TypeError:
            raise TypeError(f"expected `num_layers` to be an integer, got {num_layers!r}") from None
        if count < 1:
            raise ValueError(f"expected at least one layer, got num_layers={count}")
        own = inspect.getattr_static(module, "init", None)
        make: Callable[..., M] = module.init if isinstance(own, staticmethod | classmethod) else module

        def build(*args: Any, **kwargs: Any) -> "ArrayStacked[M]":
            given, rebuild = _per_layer(args, kwargs, in_axes, count, parameter_names(make, 0))

            def one(given: Any) -> M:
                args, kwargs = rebuild(given)
                return make(*args, **kwargs)

            stacked = eqx.filter_vmap(one, axis_size=count)(given)
            return ArrayStacked(stacked, count, gradient_checkpointing)

        return build

    # -- applying the layers ----------------------------------------------------------------------------------------

    def fold_via(
        self, fn: Callable[..., Any], *, in_axes: InAxes = None, unroll: Unroll = None, reverse: bool = False
    ) -> Callable[..., Any]:
        """`for layer in stack: carry = fn(layer, carry, *args, **kwargs)`, as a function of the carry and arguments.

        It raises TypeError where a layer gives back a carry of another structure, shape or dtype than it was given.

        **Arguments:**

        - `fn`: for example `Block.__call__`.
        - `in_axes`: for the arguments after the carry, as in `jax.vmap`: None for what all layers share (passed on
            unchanged), an axis for what is taken apart, one or the other for all arguments, a tuple with one entry for
            each positional argument, or a pair `(args_axes, kwargs_axes)`. With axis 0 an argument may be an array, a
            pytree of arrays, a list with one pytree per layer, or None, which stays None.
        - `unroll`, `reverse`: see `jax.lax.scan`.
        """

        def with_nothing(layer: Any, carry: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, None]:
            return fn(layer, carry, *args, **kwargs), None

        scanned = self._scanner(with_nothing, parameter_names(fn, 2), in_axes, unroll, reverse)

        def run(init: Any, /, *args: Any, **kwargs: Any) -> Any:
            return scanned(init, *args, **kwargs)[0]

        return run

    def scan_via(
        self,
        fn: Callable[..., tuple[Any, Any]],
        *,
        in_axes: InAxes = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[..., tuple[Any, Any]]:
        """Like `fold_via` for functions that give `(carry, y)`: the last carry, and the ys stacked along axis 0."""
        return self._scanner(as_pair(fn), parameter_names(fn, 2), in_axes, unroll, reverse)

    def collect_via(
        self,
        fn: Callable[..., tuple[Any, Any]],
        *,
        in_axes: InAxes = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[..., tuple[Any, list[Any]]]:
        """Like `scan_via`, with the ys in a list, one for each layer in the order of the stack: `ys.append(y)`.

        Python numbers, strings and None in them stay what they are.
        """
        scanned = self._scanner(as_boxed_pair(fn), parameter_names(fn, 2), in_axes, unroll, reverse)

        def run(init: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
            carry, ys = scanned(init, *args, **kwargs)
            arrays, rest = eqx.partition(ys, is_array)
            rows = [jax.tree.map(lambda y, at=at: y[at], arrays) for at in range(self.num_layers)]
            return carry, [unboxed(eqx.combine(row, rest)) for row in rows]

        return run

    def _scanner(
        self, fn: Callable[..., tuple[Any, Any]], names: Sequence[str], in_axes: InAxes, unroll: Unroll, reverse: bool
    ) -> Callable[..., tuple[Any, Any]]:
        def run(init: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            parameters, with_arrays = self._parameters()
            xs, rebuild = split_arguments(args, kwargs, in_axes, self.num_layers, names=names, layers_of=_layers_of)

            order = KeyOrder(init)

            def body(carry: Any, x: Any) -> tuple[Any, Any]:
                layer_args, layer_kwargs = rebuild(x[1])
                out = fn(with_arrays(x[0]), order.given(carry), *layer_args, **layer_kwargs)
                return order.taken(out[0]), out[1]

            policy = effective_policy(self.gradient_checkpointing)
            xs = jax.tree.map(jnp.asarray, (parameters, xs))
            carry, ys = run_scan(body, init, xs, self.num_layers, policy=policy, unroll=unroll, reverse=reverse)
            order.check(body, init, first_of(xs))
            return order.last(carry), ys

        return run

    def _parameters(self) -> tuple[Any, Callable[[Any], M]]:
        """The stacked arrays, and what makes a layer of one layer's arrays."""
        check_leading_axis(self.stacked, self.num_layers)
        parameters, static = eqx.partition(self.stacked, is_stacked)
        return parameters, lambda arrays: eqx.combine(arrays, static)

    def _remat(self) -> ScanCheckpointPolicy:
        return effective_policy(self.gradient_checkpointing)

    def _refs(self) -> list[M]:
        parameters, with_arrays = self._parameters()
        rows = range(self.num_layers)
        return [with_arrays(jax.tree.map(lambda array, row=row: Ref(array, row), parameters)) for row in rows]

    def vmap_via(self, fn: Callable[..., Any], *, in_axes: InAxes = None, out_axes: Any = 0) -> Callable[..., Any]:
        """`[fn(layer, *args, **kwargs) for layer in stack]` by `jax.vmap`, the results stacked along `out_axes`."""

        def run(*args: Any, **kwargs: Any) -> Any:
            parameters, with_arrays = self._parameters()
            names = parameter_names(fn, 1)
            xs, rebuild = split_arguments(args, kwargs, in_axes, self.num_layers, names=names, layers_of=_layers_of)

            others: list[Any] = []  # what a result holds beside arrays: the same for all layers

            def one(arrays: Any, x: Any) -> Any:
                layer_args, layer_kwargs = rebuild(x)
                result, other = split(fn(with_arrays(arrays), *layer_args, **layer_kwargs))
                others[:] = [other]
                return result

            mapped = jax.vmap(one, out_axes=out_axes, axis_size=self.num_layers)
            return eqx.combine(mapped(jax.tree.map(jnp.asarray, parameters), xs), others[0])

        return run

    # -- a sequence of layers ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.num_layers

    def get_layer(self, index: Any) -> M:
        """Layer `index` as a module of its own. Negative indices count from the end; IndexError beyond the ends.

        A traced index works too: it is clamped to the ends, as everywhere in jax.
        """
        if isinstance(index, jax.core.Tracer):
            check_leading_axis(self.stacked, self.num_layers)
            return take_layer(self.stacked, index)
        return super().get_layer(index)

    def _take(self, positions: Iterable[int]) -> list[M]:
        check_leading_axis(self.stacked, self.num_layers)
        return [take_layer(self.stacked, position) for position in positions]

    def _chosen(self, positions: Sequence[int]) -> LayerSequence[M]:
        if not positions:
            from scanify.nn.block_seq import BlockSeq  # a BlockSeq may be empty, and is made of stacks

            return BlockSeq((), (), (), (), self.gradient_checkpointing)
        check_leading_axis(self.stacked, self.num_layers)
        rows = np.array(positions)
        chosen: M = jax.tree.map(lambda leaf: rows_of(leaf, rows) if is_stacked(leaf) else leaf, self.stacked)
        return ArrayStacked(chosen, len(positions), self.gradient_checkpointing)

    def _outlines(self) -> Iterable[M]:
        return [jax.tree.map(without_layers, self.stacked)]

    def __repr__(self) -> str:
        layer = eqx.tree_pformat(*self._outlines(), struct_as_array=True)
        return f"ArrayStacked({self.num_layers} x {layer}, gradient_checkpointing={self.gradient_checkpointing!r})"


def _layers_of(value: Any) -> Any:
    """What holds the layers along axis 0, of a value that is a stack itself: `zip(self.layers, self.norms)`."""
    if not isinstance(value, ArrayStacked):
        return None
    check_leading_axis(value.stacked, value.num_layers)
    return value.stacked


def _per_layer(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, count: int, names: Sequence[str]
) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]]:
    """What each layer is built with its own of, and what makes the arguments of one constructor call of one's part."""
    if isinstance(in_axes, str):
        if in_axes != "by shape":
            raise TypeError(f'expected `in_axes` to be "by shape" or axes, got {in_axes!r}')
        _refuse_one_key((args, kwargs), count)
        given, shared = eqx.partition((args, kwargs), lambda leaf: _has_layers(leaf, count))
        return given, lambda part: eqx.combine(part, shared)
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))
    own = [value for value, axis in zip(args, args_axes, strict=True) if axis is None]
    _refuse_one_key((own, {name: kwargs[name] for name, axis in kwargs_axes.items() if axis is None}), count)
    return split_arguments(args, kwargs, in_axes, count, names=names, layers_of=_layers_of)


def _has_layers(leaf: Any, num_layers: int) -> bool:
    return is_array(leaf) and leaf.ndim > 0 and leaf.shape[0] == num_layers


def _refuse_one_key(given: Any, num_layers: int) -> None:
    if num_layers == 1:
        return
    raw_shape = (4,) if "rbg" in jax.config.jax_default_prng_impl else (2,)
    for path, leaf in jax.tree_util.tree_flatten_with_path(given)[0]:
        if not is_array(leaf):
            continue
        typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        # A raw key is as long as a stack of two (threefry) or four (rbg) layers: each would be given one number.
        raw = leaf.dtype == jnp.uint32 and leaf.shape == raw_shape
        if raw or (typed and not _has_layers(leaf, num_layers)):
            raise ValueError(
                f"expected a PRNG key for each of the {num_layers} layers, got {aval_text(leaf)} for all of them at "
                f"{jax.tree_util.keystr(path)}: every layer would begin with the same weights. Pass "
                f"jax.random.split(key, {num_layers})"
            )
