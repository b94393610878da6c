"""The common base of `ArrayStacked` and `BlockSeq`: sequences of layers to the rest of a program."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

import equinox as eqx
import jax

from scanify.nn.arguments.axes import InAxes, parameter_names
from scanify.nn.list_manners import L, ListManners
from scanify.nn.programs.eager import applied
from scanify.nn.programs.layer_call import Call, TracedCall, as_boxed_pair, as_ending_pair, as_pair, as_scan, trace_call
from scanify.nn.programs.looped_call import LoopedCall, loop_call
from scanify.nn.programs.mapped import map_via
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.loop import Unroll
from scanify.nn.trees.boxed import unboxed

# Types of the inputs and outputs of a layer: in a `BlockSeq` a carry may begin as None, or change on its way.
C = TypeVar("C")
D = TypeVar("D")
Y = TypeVar("Y")
P = ParamSpec("P")

# The same object, so that a `Sequential` and a stack can contain each other and detect a missing state.
NO_STATE: Any = inspect.signature(eqx.nn.Sequential.__call__).parameters["state"].default


class LayerSequence(eqx.nn.StatefulLayer, ListManners[L]):
    """A sequence of layers: `len(layers)`, `layers[3]`, `layers[1:]`, `for layer in layers` give modules.

    Calling it is like calling `equinox.nn.Sequential`, and it can also be a layer of a `Sequential`.

    A subclass defines the number of layers, the layers, and how a function is applied to one after another.
    """

    @abstractmethod
    def _outlines(self) -> Iterable[L]:
        """Return one layer of each kind, with shapes and dtypes in place of its arrays."""

    @abstractmethod
    def _remat(self) -> ScanCheckpointPolicy:
        """Return the remat policy."""

    @abstractmethod
    def _scanned(
        self, fn: Call, names: Sequence[str], in_axes: InAxes, unroll: Unroll, reverse: bool, *, listed: bool | None
    ) -> Callable[..., Any]:
        """Return the carry and the ys of a function that returns a pair: stacked, `listed`, or for None without ys."""

    @abstractmethod
    def unrolled(self) -> "LayerSequence[L]":
        """Return the same layers, applied by the equivalent Python loop: for debuggers, exporters and hooks.

        The layers are called one after another with arrays of their own, without a scan and without remat. The leaves
        stay stacked, so parameters, gradients and checkpoints are the same as for this sequence. The environment
        variable `SCANIFY_UNROLL=1` unrolls all sequences of a run.
        """

    def _called(
        self, call: Call, init: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any
    ) -> TracedCall | LoopedCall:
        """Return the layers as applied in one call: in a loop, or traced for scans."""
        looped = type(self)._remat(self).unrolled and len(self)
        how: Callable[..., TracedCall | LoopedCall] = loop_call if looped else trace_call
        return how(call, init, args, kwargs, layers=type(self)._refs(self), **options)

    def _outcome(self, called: TracedCall | LoopedCall, unroll: Unroll, listed: bool | None) -> tuple[Any, Any]:
        """Return the carry and the ys of a call: stacked, `listed`, or for None without ys."""
        carry, pieces = called.apply(type(self)._remat(self), unroll)
        if listed is None:
            return carry, None
        return carry, [unboxed(y) for y in called.collected(pieces)] if listed else called.stacked(pieces)

    # -- as `equinox.nn.Sequential` -----------------------------------------------------------------------------------

    def __call__(self, x: Any, state: Any = NO_STATE, *, key: Any = None) -> Any:
        """Return the result of `equinox.nn.Sequential(layers)(x, state, key=key)`.

        **Arguments:**

        - `x`: the input of the first layer.
        - `state`: an `equinox.nn.State`. Stateful layers take and return it, others do not.
        - `key`: a PRNG key, split into one for each layer. Without it every layer gets `key=None`.

        **Returns** the output of the last layer; with `state`, a pair of the output and the last state.
        """
        keys = None if key is None else jax.random.split(key, len(self))
        axes = (None if key is None else 0,)
        with jax.named_scope(type(self).__qualname__):
            if not type(self).is_stateful(self):
                x = type(self).fold_via(self, _without_state, in_axes=axes)(x, keys)
            else:
                x, state = type(self).fold_via(self, _with_state, in_axes=axes)((x, state), keys)
        return x if state is NO_STATE else (x, state)

    def is_stateful(self) -> bool:
        """Return True if any layer is stateful, as `equinox.nn.Sequential` checks."""
        return any(map(_is_stateful, type(self)._outlines(self)))

    # -- applying a function to one layer after another ---------------------------------------------------------------

    @overload
    def fold_via(
        self,
        fn: Callable[Concatenate[L, C, P], D],
        *,
        in_axes: None = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[Concatenate[C, P], D]: ...

    @overload
    def fold_via(
        self, fn: Callable[Concatenate[L, C, ...], D], *, in_axes: InAxes, unroll: Unroll = None, reverse: bool = False
    ) -> Callable[Concatenate[C, ...], D]: ...

    def fold_via(
        self, fn: Callable[..., Any], *, in_axes: InAxes = None, unroll: Unroll = None, reverse: bool = False
    ) -> Callable[..., Any]:
        """`for layer in layers: carry = fn(layer, carry, *args, **kwargs)`, as a function of the carry and arguments.

        The carry is any pytree. Python numbers in it stay Python numbers while the layers return them unchanged, so a
        layer may branch on them (`if c.n < 5`); numbers that change on the way are arrays to every layer. An
        `ArrayStacked` raises TypeError if a layer returns a carry of another structure, shape or dtype; in a `BlockSeq`
        it may change from layer to layer.

        **Arguments:**

        - `fn`: for example `Block.__call__`.
        - `in_axes`: for the arguments after the carry, as in `jax.vmap`: None for arguments shared by all layers
            (passed on unchanged), an axis for arguments that are split, one or the other for all arguments, a tuple
            with one entry for each positional argument, or a pair `(args_axes, kwargs_axes)`. With axis 0 an argument
            may be an array, a pytree of arrays, a list with one pytree per layer (in a `BlockSeq` they may differ in
            everything), a stack of any kind, on its own or within a pytree, or None, which stays None.
        - `unroll`, `reverse`: see `jax.lax.scan`.
        """
        scanned = type(self)._scanned(self, as_scan(fn), parameter_names(fn, 2), in_axes, unroll, reverse, listed=None)
        return lambda init, /, *args, **kwargs: scanned(init, *args, **kwargs)[0]

    @overload
    def scan_via(
        self,
        fn: Callable[Concatenate[L, C, P], tuple[D, Y]],
        *,
        in_axes: None = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[Concatenate[C, P], tuple[D, Y]]: ...

    @overload
    def scan_via(
        self,
        fn: Callable[Concatenate[L, C, ...], tuple[D, Y]],
        *,
        in_axes: InAxes,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[Concatenate[C, ...], tuple[D, Y]]: ...

    def scan_via(
        self, fn: Callable[..., Any], *, in_axes: InAxes = None, unroll: Unroll = None, reverse: bool = False
    ) -> Callable[..., Any]:
        """Like `fold_via` for functions that return `(carry, y)`: the last carry, and the ys stacked along axis 0.

        **Raises** ValueError if layers return ys that cannot be stacked.
        """
        return type(self)._scanned(self, as_pair(fn), parameter_names(fn, 2), in_axes, unroll, reverse, listed=False)

    @overload
    def collect_via(
        self,
        fn: Callable[Concatenate[L, C, P], tuple[D, Y]],
        *,
        in_axes: None = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[Concatenate[C, P], tuple[D, list[Y]]]: ...

    @overload
    def collect_via(
        self,
        fn: Callable[Concatenate[L, C, ...], tuple[D, Y]],
        *,
        in_axes: InAxes,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[Concatenate[C, ...], tuple[D, list[Y]]]: ...

    def collect_via(
        self, fn: Callable[..., Any], *, in_axes: InAxes = None, unroll: Unroll = None, reverse: bool = False
    ) -> Callable[..., Any]:
        """Like `scan_via`, with the ys in a list, one for each layer in the order of the sequence: `ys.append(y)`.

        Python numbers, strings and None in them are kept. In a `BlockSeq` they may have any structures and shapes.
        """
        pair, names = as_boxed_pair(fn), parameter_names(fn, 2)
        return type(self)._scanned(self, pair, names, in_axes, unroll, reverse, listed=True)

    def vmap_via(
        self, fn: Callable[Concatenate[L, ...], Y], *, in_axes: InAxes = None, out_axes: Any = 0
    ) -> Callable[..., Y]:
        """`[fn(layer, *args, **kwargs) for layer in layers]`, the results stacked along `out_axes`.

        Equal layers are applied by one `jax.vmap`, wherever they occur. If they draw random bits with a generator other
        than threefry, whose bits differ between vmap and a loop, all are applied in order by scans.
        """
        names = parameter_names(fn, 1)

        def call(layer: Any, carry: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            return carry, fn(layer, *args, **kwargs)

        def once(layers: LayerSequence[L], init: None, args: Any, kwargs: Any) -> Any:
            traced = type(layers)._called(layers, call, None, args, kwargs, in_axes=in_axes, names=names)
            return jax.vmap(lambda y: y, out_axes=out_axes, axis_size=len(self))(traced.mapped())

        return lambda *args, **kwargs: applied(once, self, None, args, kwargs, in_axes)

    @overload
    def map_via(self, fn: Callable[Concatenate[L, P], Y], *, in_axes: None = None) -> Callable[P, list[Y]]: ...

    @overload
    def map_via(self, fn: Callable[Concatenate[L, ...], Y], *, in_axes: InAxes) -> Callable[..., list[Y]]: ...

    def map_via(self, fn: Callable[..., Any], *, in_axes: InAxes = None) -> Callable[..., list[Any]]:
        """`[fn(layer, *args, **kwargs) for layer in layers]` as a function of the arguments: independent layers.

        It returns a list with the output of each layer, in order, of any structures and shapes; numbers, strings and
        None are kept. Equal layers are applied by one `jax.vmap`, wherever they occur; if vmap would not compute the
        same as a loop (`lax.cond`, `while_loop`, effects, random bits of generators other than threefry, custom
        backward passes), all are applied in order by scans. Nothing is rematerialised, whatever the remat policy.

        **Arguments:**

        - `fn`: for example `Head.__call__`.
        - `in_axes`: for the arguments after the layer, as in `BlockSeq.fold_via`. With axis 0 an argument may be an
            iterator too, as in `zip`.
        """

        def once(layers: LayerSequence[L], init: None, args: Any, kwargs: Any) -> list[Any]:
            refs, unrolled = type(layers)._refs(layers), type(layers)._remat(layers).unrolled
            return map_via(fn, refs, args, kwargs, in_axes=in_axes, unrolled=unrolled)

        def run(*args: Any, **kwargs: Any) -> list[Any]:
            done: list[Any] = applied(once, self, None, args, kwargs, in_axes)
            return done

        return run

    def until_via(
        self, fn: Callable[..., tuple[Any, Any]], *, in_axes: InAxes = None, unroll: Unroll = None
    ) -> Callable[..., tuple[Any, Any]]:
        """`for layer in layers: carry, y = fn(layer, carry, *args, **kwargs)`, until a y is not None: `break`.

        It returns the carry and the y of the layer that ended it, or None if none did. Whether a layer ends it must be
        known when it is traced, such as from its index or a static field; later layers are not traced. Python numbers
        and strings in the y are kept. `in_axes` is the same as in `BlockSeq.fold_via`.
        """

        names = parameter_names(fn, 2)

        def once(layers: LayerSequence[L], init: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
            pair = as_boxed_pair(fn)
            traced = type(layers)._called(
                layers, pair, init, args, kwargs, in_axes=in_axes, names=names, until=_is_given
            )
            carry, pieces = traced.apply(type(self)._remat(self), unroll)
            ys = traced.collected(pieces)
            return carry, unboxed(ys[-1]) if ys else None

        def run(init: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            done: tuple[Any, Any] = applied(once, self, init, args, kwargs, in_axes)
            return done

        return run

    def collect_until_via(
        self, fn: Callable[..., tuple[C, Y, bool]], *, in_axes: InAxes = None, unroll: Unroll = None
    ) -> Callable[..., tuple[C, list[Y]]]:
        """`for layer in layers: carry, y, last = fn(layer, carry, *args, **kwargs); ys.append(y)`, `if last: break`.

        It returns the carry and a list with the y of each layer up to the last one, like `collect_via`. The last layer
        must be known when it is traced, such as from its index or a static field; later layers are not traced.
        `in_axes` is the same as in `BlockSeq.fold_via`.
        """
        names = parameter_names(fn, 2)

        def once(layers: LayerSequence[L], init: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
            pair = as_ending_pair(fn)
            traced = type(layers)._called(
                layers, pair, init, args, kwargs, in_axes=in_axes, names=names, until=_is_last
            )
            carry, pieces = traced.apply(type(self)._remat(self), unroll)
            return carry, [unboxed(y)[0] for y in traced.collected(pieces)]

        def run(init: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            done: tuple[Any, Any] = applied(once, self, init, args, kwargs, in_axes)
            return done

        return run

    # -- calling the layers themselves --------------------------------------------------------------------------------

    def fold(self, init: Any, /, *args: Any, in_axes: InAxes = None, unroll: Unroll = None, **kwargs: Any) -> Any:
        """`for layer in layers: carry = layer(carry, *args, **kwargs)`; arguments are shared by all layers.

        `in_axes` and `unroll` are the same as in `fold_via`.
        """
        return type(self).fold_via(self, _call, in_axes=in_axes, unroll=unroll)(init, *args, **kwargs)

    def scan(
        self, init: Any, /, *args: Any, in_axes: InAxes = None, unroll: Unroll = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Like `fold` for layers that return `(carry, y)`: the last carry, and the ys stacked along a leading axis."""
        return type(self).scan_via(self, _call, in_axes=in_axes, unroll=unroll)(init, *args, **kwargs)


def _is_given(y: Any) -> bool:
    return y is not None


def _is_last(y: Any) -> bool:
    last: bool = unboxed(y)[1]
    return last


def _is_stateful(layer: Any) -> bool:
    return isinstance(layer, eqx.nn.StatefulLayer) and layer.is_stateful()


def _without_state(layer: Any, x: Any, key: Any) -> Any:
    return layer(x, key=key)


def _with_state(layer: Any, carry: Any, key: Any) -> Any:
    x, state = carry
    if not _is_stateful(layer):
        return layer(x, key=key), state
    x, state = layer(x, state=state, key=key)
    return x, state


def _call(layer: Any, carry: Any, /, *args: Any, **kwargs: Any) -> Any:
    return layer(carry, *args, **kwargs)
