"""What grows with the number of layers and what does not: counted, not timed."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, BlockSeq
from scanify.nn.programs import layer_programs, skeleton

KINDS = [ArrayStacked, BlockSeq]


class Layer(eqx.Module):
    """`rate` makes layers differ in a number that stands in the program."""

    w: jax.Array
    b: jax.Array
    rate: float = eqx.field(static=True)
    act: Callable[..., Any]

    def __init__(self, size: int, rate: float = 0.5, *, key: Any) -> None:
        self.w, self.b = jax.random.normal(key, (size, size)), jnp.zeros(size)
        self.rate, self.act = rate, jax.nn.silu

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x + self.act(self.w @ x + self.b) * self.rate


def layers(count: int, *, unlike: bool = False) -> list[Layer]:
    keys = jax.random.split(jax.random.key(0), count)
    return [Layer(3, 0.5 + (at / count if unlike else 0), key=key) for at, key in enumerate(keys)]


def equations(fn: Any, *args: Any) -> int:
    return len(jax.make_jaxpr(fn)(*args).jaxpr.eqns)


def test_a_constructor_that_builds_a_stack_is_one_program_for_any_number_of_layers() -> None:
    def build(keys: Any) -> Any:
        return jax.tree.leaves(eqx.filter(ArrayStacked.init(len(keys), Layer)(3, key=keys), eqx.is_array))

    few, many = (equations(build, jax.random.split(jax.random.key(0), count)) for count in (3, 30))
    assert few == many


@pytest.mark.parametrize("kind", KINDS)
def test_a_stack_that_is_walked_is_taken_apart_once(kind: Any) -> None:
    count = 5

    def walked(model: Any, x: Any) -> Any:
        for layer in model:
            x = layer(x)
        return x

    def of(model: Any) -> int:
        arrays, static = eqx.partition(model, eqx.is_array)
        return equations(lambda arrays, x: walked(eqx.combine(arrays, static), x), arrays, jnp.ones(3))

    own = layers(count)
    arrays = jax.tree.leaves(eqx.filter(own[0], eqx.is_array))
    vectors = [array for array in arrays if array.ndim < 2]
    # A split, an axis that each entry loses, and a barrier.
    assert of(kind.of(own)) - of(own) == len(arrays) * (1 + count) + len(vectors)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_of_a_stack_that_is_walked_is_joined_without_more(kind: Any) -> None:
    """What is computed by itself before it is joined is a loop more for XLA to compile, in each layer."""

    def loss(arrays: Any, static: Any) -> Any:
        x = jnp.ones(3)
        for layer in eqx.combine(arrays, static):
            x = layer(x)
        return jnp.sum(x)

    arrays, static = eqx.partition(kind.of(layers(4)), eqx.is_array)
    text = jax.jit(jax.grad(lambda arrays: loss(arrays, static))).lower(arrays).as_text()
    # One of the vectors of all layers, on the way forward.
    assert text.count("optimization_barrier") == 1
    assert text.count("stablehlo.concatenate") == 2


def test_layers_that_differ_are_traced_once_each_and_equal_ones_once() -> None:
    seen: list[int] = []

    def step(layer: Any, x: Any) -> Any:
        seen.append(1)
        return layer(x)

    for unlike, traced in ((True, 6), (False, 1)):
        seen.clear()
        stack = BlockSeq.of(layers(6, unlike=unlike))
        jax.make_jaxpr(lambda x, stack=stack: stack.fold_via(step)(x))(jnp.ones(3))
        assert len(seen) == traced


def test_what_stands_in_parameters_is_read_once_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    look = skeleton._live

    def counted(*args: Any) -> Any:
        read.append(1)
        return look(*args)

    monkeypatch.setattr(skeleton, "_live", counted)
    nested = []
    for count in (4, 16):
        read.clear()
        stack = BlockSeq.of(layers(count, unlike=True))
        jax.make_jaxpr(lambda x, stack=stack: stack.fold_via(Layer.__call__)(x))(jnp.ones(3))
        nested.append(len(read) - count)
    assert nested[0] == nested[1] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_walks_through_the_tree_as_often_for_many_layers_as_for_few(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """equinox walks through all of a module whose method is looked up in it, so that is done in the class."""
    made: list[str] = []
    stack = kind.of(layers(4))
    bound = type(stack.fold_via)
    bind = bound.__post_init__

    def counted(self: Any) -> None:
        made.append(self.__func__.__qualname__)
        bind(self)

    monkeypatch.setattr(bound, "__post_init__", counted)
    jax.make_jaxpr(lambda x: stack.fold_via(Layer.__call__)(x))(jnp.ones(3))
    assert len(made) == 1 and made[0].endswith("fold_via")


def test_each_of_many_layers_that_differ_in_a_field_is_compared_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    look = layer_programs.first_difference

    def counted(*args: Any) -> Any:
        compared.append(1)
        return look(*args)

    monkeypatch.setattr(layer_programs, "first_difference", counted)
    found = []
    for count in (8, 16):
        compared.clear()
        stack = BlockSeq.of(layers(count, unlike=True))
        jax.make_jaxpr(lambda x, stack=stack: stack.fold_via(Layer.__call__)(x))(jnp.ones(3))
        found.append(len(compared) / count)
    assert found[1] < found[0] + 0.5  # as often for each layer
