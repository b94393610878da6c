"""`ArrayStacked`: equal layers held as one, applied one after another by a scan."""

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.axes import InAxes, split_arguments
from scanify.nn.checkpoint import RematPolicy, ScanCheckpointPolicy, effective_policy
from scanify.nn.leaves import is_array
from scanify.nn.loop import run_scan
from scanify.nn.stacking import check_leading_axis, stack_layers, take_layer

M = TypeVar("M", bound=eqx.Module)


class ArrayStacked(eqx.Module, Generic[M]):
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
        num_layers: int, module: type[M], gradient_checkpointing: RematPolicy = True
    ) -> Callable[..., "ArrayStacked[M]"]:
        """Build the layers stacked, by one vmapped call: `ArrayStacked.init(12, Block)(config, key=jr.split(key, 12))`.

        `module.init` is called where there is one, as in haliax, and the class itself otherwise. Array arguments whose
        first axis has `num_layers` entries give each layer its own, all others are shared by all layers. It gives the
        very layers of a loop with keys of the threefry generator, not with keys of rbg, whose vmap differs.

        **Raises** ValueError where no argument differs from layer to layer though a PRNG key is among them: all layers
        would begin with the same weights.
        """
        ScanCheckpointPolicy.of(gradient_checkpointing)
        if num_layers < 1:
            raise ValueError(f"expected at least one layer, got num_layers={num_layers}")
        make: Callable[..., M] = getattr(module, "init", module)

        def build(*args: Any, **kwargs: Any) -> "ArrayStacked[M]":
            def axis(leaf: Any) -> int | None:
                return 0 if is_array(leaf) and leaf.ndim > 0 and leaf.shape[0] == num_layers else None

            axes = jax.tree.map(axis, (args, kwargs))
            if num_layers > 1 and not jax.tree.leaves(axes):
                _refuse_one_key((args, kwargs), num_layers)
            given, rest = eqx.partition((args, kwargs), lambda leaf: axis(leaf) == 0)

            def one(given: Any) -> M:
                args, kwargs = eqx.combine(given, rest)
                return make(*args, **kwargs)

            stacked = eqx.filter_vmap(one, axis_size=num_layers)(given)
            return ArrayStacked(stacked, num_layers, gradient_checkpointing)

        return build

    # -- applying the layers ----------------------------------------------------------------------------------------

    def fold(self, init: Any, *args: Any, **kwargs: Any) -> Any:
        """`for layer in stack: carry = layer(carry, *args, **kwargs)`; all arguments are shared by all layers.

        **Raises** TypeError where a layer gives back a carry of another structure, shape or dtype than it was given.
        """
        return self.fold_via(_call)(init, *args, **kwargs)

    def fold_via(
        self, fn: Callable[..., Any], *, in_axes: InAxes = None, unroll: int = 1, reverse: bool = False
    ) -> Callable[..., Any]:
        """`for layer in stack: carry = fn(layer, carry, *args, **kwargs)`, as a function of the carry and arguments.

        **Arguments:**

        - `fn`: for example `Block.__call__`.
        - `in_axes`: for the arguments after the carry, as in `jax.vmap`: None for what all layers share (passed on
            unchanged), an axis for what is taken apart, one or the other for all arguments, a tuple with one entry for
            each positional argument, or a pair `(args_axes, kwargs_axes)`. With axis 0 an argument may be an array, a
            pytree of arrays, a list with one pytree per layer, or None, which stays None.
        - `unroll`, `reverse`: see `jax.lax.scan`.
        """
        scanned = self.scan_via(
            lambda layer, carry, *args, **kwargs: (fn(layer, carry, *args, **kwargs), None),
            in_axes=in_axes,
            unroll=unroll,
            reverse=reverse,
        )
        return lambda init, *args, **kwargs: scanned(init, *args, **kwargs)[0]

    def scan(self, init: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Like `fold` for layers that give `(carry, y)`: the last carry, and the ys stacked along a leading axis."""
        return self.scan_via(_call)(init, *args, **kwargs)

    def scan_via(
        self, fn: Callable[..., tuple[Any, Any]], *, in_axes: InAxes = None, unroll: int = 1, reverse: bool = False
    ) -> Callable[..., tuple[Any, Any]]:
        """Like `fold_via` for functions that give `(carry, y)`: the last carry, and the ys stacked along axis 0."""

        def run(init: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            check_leading_axis(self.stacked, self.num_layers)
            parameters, static = eqx.partition(self.stacked, is_array)
            xs, rebuild = split_arguments(args, kwargs, in_axes, self.num_layers)

            def body(carry: Any, x: Any) -> tuple[Any, Any]:
                layer = eqx.combine(x[0], static)
                layer_args, layer_kwargs = rebuild(x[1])
                return fn(layer, carry, *layer_args, **layer_kwargs)

            policy = effective_policy(self.gradient_checkpointing)
            xs = jax.tree.map(jnp.asarray, (parameters, xs))
            return run_scan(body, init, xs, self.num_layers, policy=policy, unroll=unroll, reverse=reverse)

        return run

    def vmap_via(self, fn: Callable[..., Any], *, in_axes: InAxes = None, out_axes: Any = 0) -> Callable[..., Any]:
        """`[fn(layer, *args, **kwargs) for layer in stack]` by `jax.vmap`, the results stacked along `out_axes`."""

        def run(*args: Any, **kwargs: Any) -> Any:
            check_leading_axis(self.stacked, self.num_layers)
            parameters, static = eqx.partition(self.stacked, is_array)
            xs, rebuild = split_arguments(args, kwargs, in_axes, self.num_layers)

            def one(parameters: Any, x: Any) -> Any:
                layer_args, layer_kwargs = rebuild(x)
                return fn(eqx.combine(parameters, static), *layer_args, **layer_kwargs)

            return jax.vmap(one, out_axes=out_axes)(jax.tree.map(jnp.asarray, parameters), xs)

        return run

    # -- a sequence of layers ---------------------------------------------------------------------------------------

    def get_layer(self, index: Any) -> M:
        """Layer `index` as a module of its own. Negative indices count from the end; IndexError beyond the ends.

        A traced index works too: it is clamped to the ends, as everywhere in jax.
        """
        check_leading_axis(self.stacked, self.num_layers)
        if isinstance(index, jax.core.Tracer):
            return take_layer(self.stacked, index)
        position = operator.index(index)
        if not -self.num_layers <= position < self.num_layers:
            raise IndexError(f"layer {position} is out of range: the stack has {self.num_layers} layers")
        return take_layer(self.stacked, position % self.num_layers)

    def unstacked(self) -> tuple[M, ...]:
        """All layers, each as a module of its own."""
        return tuple(self.get_layer(index) for index in range(self.num_layers))

    def __len__(self) -> int:
        return self.num_layers

    @overload
    def __getitem__(self, index: slice) -> list[M]: ...

    @overload
    def __getitem__(self, index: Any) -> M: ...

    def __getitem__(self, index: Any) -> M | list[M]:
        """A layer, or for a slice a list of layers, as of the list that the stack stands for."""
        if isinstance(index, slice):
            return [self.get_layer(one) for one in range(*index.indices(self.num_layers))]
        return self.get_layer(index)

    def __iter__(self) -> Iterator[M]:
        return iter(self.unstacked())

    def __reversed__(self) -> Iterator[M]:
        return iter(self.unstacked()[::-1])

    def __repr__(self) -> str:
        layer = eqx.tree_pformat(self.stacked)
        return f"ArrayStacked({self.num_layers} x {layer}, gradient_checkpointing={self.gradient_checkpointing!r})"


def _call(layer: Any, carry: Any, *args: Any, **kwargs: Any) -> Any:
    return layer(carry, *args, **kwargs)


def _refuse_one_key(given: Any, num_layers: int) -> None:
    for path, leaf in jax.tree_util.tree_flatten_with_path(given)[0]:
        if is_array(leaf) and _is_key(leaf):
            raise ValueError(
                f"expected a PRNG key for each of the {num_layers} layers, got one key for all of them at "
                f"{jax.tree_util.keystr(path)}: every layer would begin with the same weights. Pass "
                f"jax.random.split(key, {num_layers})"
            )


def _is_key(leaf: Any) -> bool:
    typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return bool(typed and leaf.ndim == 0) or (leaf.dtype == jnp.uint32 and leaf.shape == (2,))
