"""A stack of layers as a list: indexing, iterating, taking, and the other methods of a list."""

import operator
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, TypeVar, overload

import equinox as eqx

from scanify.nn.trees.has_layers import HasLayers

L = TypeVar("L")

# To a type checker a stack is a sequence like any other. Modules are frozen dataclasses, and so are their bases, so at
# run time it is registered as one.
if TYPE_CHECKING:
    from collections.abc import Sequence as Listed
else:
    Listed = Generic

# Methods of a list that would change it in place, with replacements for a stack, which is immutable.
_WRITTEN = {
    "append": "layers = Kind.of([*layers, layer])",
    "extend": "layers = Kind.of([*layers, *others])",
    "insert": "layers = Kind.of([*layers[:index], layer, *layers[index:]])",
    "pop": "layer, layers = layers[index], layers.take(range(index))",
    "remove": "layers = layers.take(index for index in range(len(layers)) if ...)",
    "clear": "layers = layers.take([])",
    "sort": "layers = layers.take(sorted(range(len(layers)), key=...))",
    "reverse": "layers = layers.take(reversed(range(len(layers))))",
    "copy": "the stack itself, which nothing changes",
}


class ListManners(HasLayers, Listed[L]):
    """The list interface of sequences of layers. A layer is a module of its own, with its part of the arrays.

    Looking up a method of a module flattens its tree (equinox makes a pytree of it), so the methods here are looked up
    in the class.
    """

    @abstractmethod
    def _take(self, positions: Sequence[int]) -> list[L]:
        """Return the layers at these positions, which are all in range and not negative."""

    @abstractmethod
    def _chosen(self, positions: Sequence[int]) -> Any:
        """Return a sequence of the layers at these positions, which are all in range and not negative."""

    @abstractmethod
    def with_layer(self, index: Any, layer: Any) -> Any:
        """Return this sequence with the layer at `index` replaced."""

    def get_layer(self, index: Any) -> L:
        """Return layer `index` as its own module. Negative indices count from the end; IndexError beyond the ends."""
        return type(self)._take(self, [position_of(self, index)])[0]

    def take(self, numbers: Iterable[Any]) -> Any:
        """Return the sequence of `self[number] for number in numbers`: `for i in range(n): x = self.layers[i](x)` is
        `x = self.layers.take(range(n)).fold(x)`.

        Negative numbers count from the end, a layer may occur more than once, and no numbers give a sequence that does
        nothing. The numbers of all layers in order give this very sequence.

        **Raises** IndexError for a number beyond the ends, as a list does.
        """
        positions = [position_of(self, number) for number in numbers]
        return self if positions == list(range(len(self))) else self._chosen(positions)

    def unstacked(self) -> tuple[L, ...]:
        """Return all layers, each as a module of its own; a layer at several positions is one object."""
        return tuple(type(self)._take(self, range(len(self))))

    @overload
    def __getitem__(self, index: SupportsIndex) -> L: ...

    @overload
    def __getitem__(self, index: slice) -> list[L]: ...

    def __getitem__(self, index: Any) -> L | list[L]:
        """Return a layer, or for a slice a list of layers, like a list."""
        if isinstance(index, slice):
            return type(self)._take(self, range(*index.indices(len(self))))
        return type(self).get_layer(self, index)

    def __iter__(self) -> Iterator[L]:
        return iter(type(self).unstacked(self))

    def __reversed__(self) -> Iterator[L]:
        return iter(type(self).unstacked(self)[::-1])

    def __add__(self, other: Any) -> list[Any]:
        """Return a list of the layers of both; `Kind.of(one + other)` stacks it."""
        return [*self, *other] if isinstance(other, Iterable) else NotImplemented

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self] if isinstance(other, Iterable) else NotImplemented

    def __mul__(self, times: Any) -> list[L]:
        """Return a list with the layers repeated `times` times."""
        return list(type(self).unstacked(self)) * operator.index(times)

    __rmul__ = __mul__

    def index(self, layer: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the position of the first layer equal to this one, leaf by leaf. Raises ValueError without any."""
        for position in range(*slice(start, stop).indices(len(self))):
            if _equal(type(self).get_layer(self, position), layer):
                return position
        raise ValueError(f"none of the {len(self)} layers is equal to the given {type(layer).__qualname__}")

    def count(self, layer: Any) -> int:
        """Count the layers that are equal to this one, leaf by leaf."""
        return sum(_equal(one, layer) for one in type(self).unstacked(self))

    def __contains__(self, layer: Any) -> bool:
        return any(_equal(one, layer) for one in type(self).unstacked(self))

    def __setitem__(self, index: Any, layer: Any) -> None:
        raise TypeError(
            "a stack of layers is not changed in place: write `layers = layers.with_layer(index, layer)`, or within a "
            "model `equinox.tree_at(lambda model: model.layers, model, model.layers.with_layer(index, layer))`"
        )

    def __delitem__(self, index: Any) -> None:
        raise TypeError(
            "a stack of layers is not changed in place: write `layers = layers.take(numbers)` with the numbers of the "
            "layers that stay"
        )

    if not TYPE_CHECKING:  # type checkers report unknown attributes anyway

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            if name in _WRITTEN:
                instead = _WRITTEN[name].replace("Kind", kind)
                raise AttributeError(f"{kind} has no `{name}`: no stack of layers is changed in place. Write {instead}")
            raise AttributeError(
                f"{kind} has no attribute {name!r}. It is a sequence of layers: an attribute of a layer is that of "
                f"`layers[index]`, and those of all are `[layer.{name} for layer in layers]`"
            )


Sequence.register(ListManners)  # type: ignore[type-abstract]


def position_of(layers: Any, index: Any) -> int:
    """Return the position for an index, as for a list. Raises IndexError beyond the ends."""
    position = operator.index(index)
    if not -len(layers) <= position < len(layers):
        raise IndexError(f"layer {position} is out of range: there are {len(layers)} layers")
    return position % len(layers)


def _equal(one: Any, other: Any) -> bool:
    return one is other or bool(eqx.tree_equal(one, other, typematch=True))
