"""A stack of layers as the list that it stands for: indexing, walking, taking, and what a list has beside."""

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

# What a list offers that would change it in place, and what to write for a stack, which is never changed.
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
    """What sequences of layers have of a list. A layer is a module of its own, made of its part of the arrays.

    To look up a method of a module costs a walk through its tree (equinox makes a pytree of it), so the methods here
    look in the class.
    """

    @abstractmethod
    def _take(self, positions: Sequence[int]) -> list[L]:
        """The layers at these positions, none of which is negative or beyond the end."""

    @abstractmethod
    def _chosen(self, positions: Sequence[int]) -> Any:
        """A sequence of the layers at these positions, none of which is negative or beyond the end."""

    @abstractmethod
    def with_layer(self, index: Any, layer: Any) -> Any:
        """This sequence with another layer in place of that at `index`."""

    def get_layer(self, index: Any) -> L:
        """Layer `index` as a module of its own. Negative indices count from the end; IndexError beyond the ends."""
        return type(self)._take(self, [position_of(self, index)])[0]

    def take(self, numbers: Iterable[Any]) -> Any:
        """The sequence of `self[number] for number in numbers`: `for i in range(n): x = self.layers[i](x)` is
        `x = self.layers.take(range(n)).fold(x)`.

        Negative numbers count from the end, a layer may come more than once, and no number at all gives a sequence that
        does nothing. Where the numbers are those of all layers in order, it is this very sequence.

        **Raises** IndexError for a number beyond the ends, as a list does.
        """
        positions = [position_of(self, number) for number in numbers]
        return self if positions == list(range(len(self))) else self._chosen(positions)

    def unstacked(self) -> tuple[L, ...]:
        """All layers, each as a module of its own; a layer that stands at several positions is one object."""
        return tuple(type(self)._take(self, range(len(self))))

    @overload
    def __getitem__(self, index: SupportsIndex) -> L: ...

    @overload
    def __getitem__(self, index: slice) -> list[L]: ...

    def __getitem__(self, index: Any) -> L | list[L]:
        """A layer, or for a slice a list of layers, as of the list that this stands for."""
        if isinstance(index, slice):
            return type(self)._take(self, range(*index.indices(len(self))))
        return type(self).get_layer(self, index)

    def __iter__(self) -> Iterator[L]:
        return iter(type(self).unstacked(self))

    def __reversed__(self) -> Iterator[L]:
        return iter(type(self).unstacked(self)[::-1])

    def __add__(self, other: Any) -> list[Any]:
        """A list of the layers of both, as of two lists; `Kind.of(one + other)` stacks it."""
        return [*self, *other] if isinstance(other, Iterable) else NotImplemented

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self] if isinstance(other, Iterable) else NotImplemented

    def __mul__(self, times: Any) -> list[L]:
        """A list with the layers that many times."""
        return list(type(self).unstacked(self)) * operator.index(times)

    __rmul__ = __mul__

    def index(self, layer: Any, start: int = 0, stop: int | None = None) -> int:
        """The position of the first layer that is equal to this one, leaf by leaf. Raises ValueError without any."""
        for position in range(*slice(start, stop).indices(len(self))):
            if _equal(type(self).get_layer(self, position), layer):
                return position
        raise ValueError(f"none of the {len(self)} layers is equal to the given {type(layer).__qualname__}")

    def count(self, layer: Any) -> int:
        """How many layers are equal to this one, leaf by leaf."""
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

    if not TYPE_CHECKING:  # to a type checker an unknown attribute is an error as it is

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
    """The position that an index means, as for a list. Raises IndexError beyond the ends."""
    position = operator.index(index)
    if not -len(layers) <= position < len(layers):
        raise IndexError(f"layer {position} is out of range: there are {len(layers)} layers")
    return position % len(layers)


def _equal(one: Any, other: Any) -> bool:
    return one is other or bool(eqx.tree_equal(one, other, typematch=True))
