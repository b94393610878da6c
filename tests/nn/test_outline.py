"""What is told fast of two pytrees is equal wherever they are."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.outline import outline


class Part(eqx.Module):
    w: Any
    static: Any = eqx.field(static=True, default=None)


class Same:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    __hash__ = None  # type: ignore[assignment]


VALUES: list[Any] = [
    None, 0, 1, 1.0, True, -0.0, 0.0, "a", b"a", float("nan"), 1j, (1, 2), (1, 2.0), (1, (2, [3])), [1, 2], [], (),
    {"a": 1}, {"a": 2}, {"b": {"a": 1}}, {1, 2}, frozenset({1}), Same(), jnp.sin, functools.partial(jnp.sum, axis=0),
    functools.partial(jnp.sum, axis=1), np.dtype("float32"), slice(1, 2),
]  # fmt: skip


def trees(value: Any) -> list[Any]:
    return [Part(jnp.ones(2), value), Part(value), {"a": [Part(1.0, value)], "b": (value, None)}]


@pytest.mark.parametrize("at", range(len(trees(None))))
def test_pytrees_without_a_difference_have_one_outline(at: int) -> None:
    made = [[trees(value)[at] for value in VALUES] for _ in range(2)]
    for one in made[0]:
        for other in made[1]:
            if first_difference(one, other) is None:
                assert outline(one) == outline(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Part(1.0), Part(2.0)),
        (Part(1), Part(True)),
        (Part(jnp.ones(2)), Part(jnp.ones(3))),
        (Part(jnp.ones(2)), Part(jnp.ones(2, int))),
        (Part(None, 1), Part(None, 2)),
        (Part(None, ("a", 1)), Part(None, ("a", 2))),
        (Part([1]), Part((1,))),
        (Part(None), Part([])),
    ],
)
def test_layers_that_differ_in_a_field_are_told_apart_without_being_compared(one: Any, other: Any) -> None:
    assert first_difference(one, other) is not None
    assert outline(one) != outline(other)


def test_a_static_list_that_grows_while_layers_are_traced_makes_no_difference() -> None:
    log: list[int] = []
    one = outline(Part(None, log))
    log.append(1)
    assert outline(Part(None, log)) == one


def test_the_arrays_of_a_stack_and_shapes_have_one_outline() -> None:
    shape = jax.ShapeDtypeStruct((2,), jnp.float32)
    assert outline(Part(jnp.ones(2))) == outline(Part(shape)) == outline(Part(np.ones(2, np.float32)))
