"""Objects in static fields whose class calls them equal though they are not: each layer computes with its own."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, BlockSeq


@dataclasses.dataclass(frozen=True)
class Uncompared:
    v: float = dataclasses.field(compare=False)


class Always:
    def __init__(self, v: float) -> None:
        self.v = v

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return 1


class Slotted(Always):
    __slots__ = ("v",)


class Private:
    __slots__ = ("__v",)

    def __init__(self, v: float) -> None:
        self.__v = v

    @property
    def v(self) -> float:
        return self.__v

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Private)

    def __hash__(self) -> int:
        return 1


class Written(str):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    @property
    def v(self) -> float:
        return float(str(self))


class Row(NamedTuple):
    v: float

    def __eq__(self, other: object) -> bool:
        return True


class Named(tuple):  # with an attribute beside its elements
    v: float

    def __new__(cls, v: float) -> "Named":
        made = super().__new__(cls, ())
        made.v = v
        return made


class Meta(type):
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return 1


def as_class(v: float) -> Any:
    return Meta("Made", (), {"v": v})


class Layer(eqx.Module):
    w: jax.Array
    tag: Any = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x * self.tag.v + jnp.tanh(self.w * x)


KINDS = [Uncompared, Always, Slotted, Private, Written, Row, Named, as_class]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_an_object_holds_counts_and_not_what_its_class_says(kind: Any) -> None:
    layers = [Layer(jnp.full(3, 0.1 * i), kind(1.0 + i)) for i in range(4)]
    x = expected = jnp.arange(1.0, 4.0)
    for layer in layers:
        expected = layer(expected)
    assert jnp.allclose(BlockSeq.of(layers).fold(x), expected)
    with pytest.raises(ValueError, match=r"layers 0 and 1 differ at \.tag"):
        ArrayStacked.of(layers)


@pytest.mark.parametrize("kind", [Uncompared, Always, Slotted, Written, Row, Named], ids=lambda kind: kind.__name__)
def test_objects_that_hold_the_same_are_equal(kind: Any) -> None:
    layers = [Layer(jnp.full(3, 0.1 * i), kind(2.0)) for i in range(4)]
    x = expected = jnp.arange(1.0, 4.0)
    for layer in layers:
        expected = layer(expected)
    assert jnp.allclose(ArrayStacked.of(layers).fold(x), expected)
