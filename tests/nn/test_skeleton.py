"""The key of a program: equal for two programs that do the same, and for no others."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.nn.programs.skeleton import Known, Skeleton, _simple, skeleton

Program = Callable[[Any], Any]


@jax.custom_jvp
def halved(x: Any) -> Any:
    return x / 2


halved.defjvp(lambda primals, tangents: (primals[0] / 2, tangents[0]))


@jax.custom_jvp
def halved_otherwise(x: Any) -> Any:
    return x / 2


halved_otherwise.defjvp(lambda primals, tangents: (primals[0] / 2, 2 * tangents[0]))

# Each of the two programs of a pair does something else.
UNLIKE: dict[str, tuple[Program, Program]] = {
    "an axis": (lambda x: lax.reduce_sum(x, [0]), lambda x: lax.reduce_sum(x, [1])),
    "a switch": (lambda x: lax.cumsum(x, axis=1), lambda x: lax.cumsum(x, axis=1, reverse=True)),
    "an order": (lambda x: x.transpose(0, 1, 2), lambda x: x.transpose(1, 0, 2)),
    "a nested order": (
        lambda x: lax.dot_general(x, x, (((0,), (0,)), ((), ()))),
        lambda x: lax.dot_general(x, x, (((1,), (0,)), ((), ()))),
    ),
    "a dtype": (lambda x: lax.convert_element_type(x, jnp.int8), lambda x: lax.convert_element_type(x, jnp.uint8)),
    "a direction": (
        lambda x: lax.scan(lambda c, y: (c + y, c), x[0], x)[1],
        lambda x: lax.scan(lambda c, y: (c + y, c), x[0], x, reverse=True)[1],
    ),
    "what is carried": (
        lambda x: lax.scan(lambda c, y: (c + y, y), x[0], x)[0],
        lambda x: lax.scan(lambda c, y: (c + y, y), x[0], x)[1][0],
    ),
    "inside of jit": (jax.jit(lambda x: jnp.flip(x, 0)), jax.jit(lambda x: jnp.flip(x, 1))),
    "inside of cond": (
        lambda x: lax.cond(True, lambda: x + 1, lambda: x),
        lambda x: lax.cond(True, lambda: x + 2, lambda: x),
    ),
    "a rule": (halved, halved_otherwise),
    "a mapped rule": (jax.vmap(halved), jax.vmap(halved_otherwise)),
    "a type": (lambda x: x, lambda x: x.astype(jnp.float16).astype(jnp.float32)),
}
# They do the same, but for numbers that may be taken out.
ALIKE: dict[str, tuple[Program, Program]] = {
    "an axis from the end": (lambda x: jnp.sum(x, axis=-1), lambda x: jnp.sum(x, axis=2)),
    "numbers": (lambda x: x * 3.0, lambda x: x * 4.0),
    "numbers inside of jit": (jax.jit(lambda x: x * 3.0), jax.jit(lambda x: x * 4.0)),
    "a name": (jax.jit(lambda x: jnp.sin(x), inline=False), jax.jit(jnp.sin)),
    "what nothing reads": (lambda x: (jnp.cos(x), x + 1)[1], lambda x: x + 1),
    "a rule of its own": (halved, lambda x: halved(x)),
}


def key(program: Program, known: Known | None) -> Skeleton:
    closed = jax.make_jaxpr(program)(jnp.ones((2, 2, 2)))
    return skeleton(closed.jaxpr, tuple(closed.consts), known=known)


def keys(pair: tuple[Program, Program], many: bool) -> list[Any]:
    known = Known() if many else None
    return [key(program, known).key for program in (*pair, *pair)]


@pytest.mark.parametrize("many", [True, False], ids=["of many", "by itself"])
class TestKeys:
    @pytest.mark.parametrize("which", UNLIKE)
    def test_of_programs_that_differ_are_unequal(self, which: str, many: bool) -> None:
        first, second, first_again, second_again = keys(UNLIKE[which], many)
        assert first == first_again and second == second_again
        assert first != second

    @pytest.mark.parametrize("which", ALIKE)
    def test_of_programs_that_do_the_same_are_equal(self, which: str, many: bool) -> None:
        first, second, *_ = keys(ALIKE[which], many)
        assert first == second


def test_integers_of_numpy_are_those_of_python_and_booleans_are_none() -> None:
    assert _simple((np.int64(1), (2,))) == _simple((1, (2,)))
    assert _simple((1,)) != _simple((True,)) and _simple((1,)) != _simple([1])
    assert _simple((1, True)) is None  # for others to say
