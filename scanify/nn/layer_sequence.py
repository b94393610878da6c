"""What `ArrayStacked` and `BlockSeq` have in common: to the rest of a program they are sequences of layers."""

import inspect
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import equinox as eqx
import jax

from scanify.nn.axes import InAxes, parameter_names
from scanify.nn.boxed import unboxed
from scanify.nn.checkpoint import ScanCheckpointPolicy
from scanify.nn.layer_call import as_boxed_pair, trace_call
from scanify.nn.loop import Unroll
from scanify.nn.mapped import map_via

M = TypeVar("M", bound=eqx.Module)

# The very object, so that each of a `Sequential` and a stack can hold the other and tell that no state was given.
NO_STATE: Any = inspect.signature(eqx.nn.Sequential.__call__).parameters["state"].default


class LayerSequence(eqx.nn.StatefulLayer, Generic[M]):
    """A sequence of layers: `len(layers)`, `layers[3]`, `layers[1:]`, `for layer in layers` give modules.

    Called, it does what `equinox.nn.Sequential` does, and like that one it can be a layer of a `Sequential`.

    A subclass says how many there are, what a layer is, and how a function is applied to one after another.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _take(self, positions: Iterable[int]) -> list[M]:
        """The layers at these positions, none of which is negative or beyond the end."""

    @abstractmethod
    def _chosen(self, positions: Sequence[int]) -> "LayerSequence[M]":
        """A sequence of the layers at these positions, none of which is negative or beyond the end."""

    @abstractmethod
    def _outlines(self) -> Iterable[M]:
        """One layer of each kind, with shapes and dtypes in place of its arrays."""

    @abstractmethod
    def fold_via(
        self, fn: Callable[..., Any], *, in_axes: InAxes = None, unroll: Unroll = None, reverse: bool = False
    ) -> Callable[..., Any]: ...

    @abstractmethod
    def scan_via(
        self,
        fn: Callable[..., tuple[Any, Any]],
        *,
        in_axes: InAxes = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[..., tuple[Any, Any]]: ...

    @abstractmethod
    def collect_via(
        self,
        fn: Callable[..., tuple[Any, Any]],
        *,
        in_axes: InAxes = None,
        unroll: Unroll = None,
        reverse: bool = False,
    ) -> Callable[..., tuple[Any, list[Any]]]: ...

    # -- as `equinox.nn.Sequential` -----------------------------------------------------------------------------------

    def __call__(self, x: Any, state: Any = NO_STATE, *, key: Any = None) -> Any:
        """What `equinox.nn.Sequential(layers)(x, state, key=key)` gives.

        **Arguments:**

        - `x`: what the first layer is given.
        - `state`: an `equinox.nn.State`. Layers that are stateful are given it and give it back, others are not.
        - `key`: a PRNG key, split into one for each layer. Without it every layer is given `key=None`.

        **Returns** what the last layer gives; with `state`, a pair of that and the last state.
        """
        keys = None if key is None else jax.random.split(key, len(self))
        axes = (None if key is None else 0,)
        with jax.named_scope(type(self).__qualname__):
            if not self.is_stateful():
                x = self.fold_via(_without_state, in_axes=axes)(x, keys)
            else:
                x, state = self.fold_via(_with_state, in_axes=axes)((x, state), keys)
        return x if state is NO_STATE else (x, state)

    def is_stateful(self) -> bool:
        """Whether any layer is stateful, as `equinox.nn.Sequential` asks it."""
        return any(map(_is_stateful, self._outlines()))

    @abstractmethod
    def _refs(self) -> list[M]:
        """The layers, each with a `Ref` in place of each array."""

    def map_via(self, fn: Callable[..., Any], *, in_axes: InAxes = None) -> Callable[..., list[Any]]:
        """`[fn(layer, *args, **kwargs) for layer in layers]` as a function of the arguments: independent layers.

        It gives a list with what each layer gives, in their order, of any structures and shapes; numbers, strings and
        None stay what they are. Equal layers are applied by one `jax.vmap`, wherever they stand; where vmap would not
        compute what a loop does (`lax.cond`, `while_loop`, effects, random bits from keys other than threefry's, custom
        backward passes), all are applied in order by scans. Nothing is rematerialised, whatever the remat policy.

        **Arguments:**

        - `fn`: for example `Head.__call__`.
        - `in_axes`: for the arguments after the layer, as in `BlockSeq.fold_via`. With axis 0 an argument may be an
            iterator too, as in `zip`.
        """

        def run(*args: Any, **kwargs: Any) -> list[Any]:
            return map_via(fn, self._refs(), args, kwargs, in_axes=in_axes, layers_of=_layers_of)

        return run

    def until_via(
        self, fn: Callable[..., tuple[Any, Any]], *, in_axes: InAxes = None, unroll: Unroll = None
    ) -> Callable[..., tuple[Any, Any]]:
        """`for layer in layers: carry, y = fn(layer, carry, *args, **kwargs)`, until a y is not None: `break`.

        It gives the carry and the y of the layer that ended it, or None where none did. Whether a layer does must be
        known when it is traced, as from its index or a static field: no layer after it is traced. Of the y, Python
        numbers and strings stay what they are. `in_axes` is that of `BlockSeq.fold_via`.
        """

        def run(init: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            traced = trace_call(
                as_boxed_pair(fn),
                init,
                args,
                kwargs,
                layers=self._refs(),
                in_axes=in_axes,
                names=parameter_names(fn, 2),
                layers_of=_layers_of,
                until=True,
            )
            carry, pieces = traced.apply(self._remat(), unroll)
            ys = traced.collected(pieces)
            return carry, unboxed(ys[-1]) if ys else None

        return run

    @abstractmethod
    def _remat(self) -> ScanCheckpointPolicy:
        """The remat policy."""

    # -- applying the layers as they are ------------------------------------------------------------------------------

    def fold(self, init: Any, /, *args: Any, in_axes: InAxes = None, unroll: Unroll = None, **kwargs: Any) -> Any:
        """`for layer in layers: carry = layer(carry, *args, **kwargs)`; arguments are shared by all layers.

        `in_axes` and `unroll` are those of `fold_via`.
        """
        return self.fold_via(_call, in_axes=in_axes, unroll=unroll)(init, *args, **kwargs)

    def scan(
        self, init: Any, /, *args: Any, in_axes: InAxes = None, unroll: Unroll = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Like `fold` for layers that give `(carry, y)`: the last carry, and the ys stacked along a leading axis."""
        return self.scan_via(_call, in_axes=in_axes, unroll=unroll)(init, *args, **kwargs)

    # -- a sequence of layers -----------------------------------------------------------------------------------------

    def get_layer(self, index: Any) -> M:
        """Layer `index` as a module of its own. Negative indices count from the end; IndexError beyond the ends."""
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"layer {position} is out of range: there are {len(self)} layers")
        return self._take([position % len(self)])[0]

    def take(self, numbers: Iterable[Any]) -> "LayerSequence[M]":
        """The sequence of `self[number] for number in numbers`: `for i in range(n): x = self.layers[i](x)` is
        `x = self.layers.take(range(n)).fold(x)`.

        Negative numbers count from the end, a layer may come more than once, and no number at all gives a sequence that
        does nothing. Where the numbers are those of all layers in order, it is this very sequence.

        **Raises** IndexError for a number beyond the ends, as a list does.
        """
        positions = [operator.index(number) for number in numbers]
        for position in positions:
            if not -len(self) <= position < len(self):
                raise IndexError(f"layer {position} is out of range: there are {len(self)} layers")
        positions = [position % len(self) for position in positions]
        return self if positions == list(range(len(self))) else self._chosen(positions)

    def unstacked(self) -> tuple[M, ...]:
        """All layers, each as a module of its own; a layer that stands at several positions is one object."""
        return tuple(self._take(range(len(self))))

    @overload
    def __getitem__(self, index: slice) -> list[M]: ...

    @overload
    def __getitem__(self, index: Any) -> M: ...

    def __getitem__(self, index: Any) -> M | list[M]:
        """A layer, or for a slice a list of layers, as of the list that this stands for."""
        if isinstance(index, slice):
            return self._take(range(*index.indices(len(self))))
        return self.get_layer(index)

    def __iter__(self) -> Iterator[M]:
        return iter(self.unstacked())

    def __reversed__(self) -> Iterator[M]:
        return iter(self.unstacked()[::-1])


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


def _layers_of(value: Any) -> Any:
    """The layers of an argument that is a sequence of layers itself: `zip(self.heads, self.norms)`."""
    return list(value) if isinstance(value, LayerSequence) else None
