"""The switch for debugging: which layer gives the first NaN, and where; off, every program is what it was."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, BlockSeq, check_layers, fold, scan
from scanify.nn.checks import check_layers as switch


class Block(eqx.Module):
    weight: jax.Array
    times: int = 2

    def __call__(self, x: jax.Array) -> jax.Array:
        y = x * self.times
        y = y + jnp.log(self.weight)
        return jnp.tanh(y)


LINE = inspect.getsourcelines(Block)[1] + 6
X = jnp.ones(2)


def blocks(*weights: float) -> list[Block]:
    return [Block(jnp.full(2, float(weight))) for weight in weights]


def told(call: Callable[..., Any], *given: Any) -> list[str]:
    """What is reported of a call in a program of its own."""
    said: list[str] = []
    with check_layers(said.append):
        jax.block_until_ready(jax.jit(lambda *given: call(*given))(*given))
        jax.effects_barrier()
    return said


def log_of(layer: int, shape: str = "float32[2]") -> list[str]:
    return [f"layer {layer}: {__file__}:{LINE}: log gives a NaN, {shape}"]


@pytest.mark.parametrize("remat", [False, "nested", "dots"])
def test_a_stack_names_the_layer_and_the_line(remat: Any) -> None:
    stack = ArrayStacked.of(blocks(1, 2, -1, 3), gradient_checkpointing=remat)
    assert told(lambda s, x: s.fold(x), stack, X) == log_of(2)
    assert told(jax.grad(lambda x: stack.fold(x).sum()), X) == log_of(2)


def test_a_sequence_of_unlike_layers_does_too() -> None:
    unlike = [*blocks(1, 2), Block(jnp.full(2, 3.0), 5), *blocks(2, -1, 1)]
    assert told(lambda s, x: s.fold(x), BlockSeq.of(unlike), X) == log_of(4)
    periods = BlockSeq.of([*blocks(1), eqx.nn.Lambda(jnp.sin)] * 3 + blocks(-1))
    assert told(periods.fold_via(lambda layer, x: layer(x)), X) == log_of(6)


def test_a_map_over_layers_numbers_them() -> None:
    stack = ArrayStacked.of(blocks(1, -2, 3))
    assert told(lambda s, x: s.map_via(lambda layer, x: layer(x))(x), stack, X) == log_of(1)


def test_outside_of_jit_and_under_vmap() -> None:
    stack, said = ArrayStacked.of(blocks(1, -1)), list[str]()
    with check_layers(said.append):
        for _ in range(2):
            stack.fold(X)
    assert said == log_of(1) * 2
    assert told(jax.vmap(stack.fold), jnp.ones((3, 2))) == log_of(1)


def test_loops_over_arrays() -> None:
    steps = jnp.array([1.0, -1.0, 2.0])
    (text,) = told(lambda xs: fold(lambda c, x: c + jnp.log(x))(0.0, xs), steps)
    assert text.startswith(f"layer 1: {__file__}:")
    (text,) = told(lambda xs: scan(lambda c, x: (c, jnp.log(x)), reverse=True)(0.0, xs), steps)
    assert text.startswith(f"layer 1: {__file__}:")


def test_what_was_given_is_told_from_what_was_made() -> None:
    stack = ArrayStacked.of(blocks(1, jnp.nan, 1))
    assert told(stack.fold, X) == ["layer 1: its own parameters or arguments have a NaN"]
    assert told(stack.fold, X * jnp.nan) == ["layer 0: the carry that it is given has a NaN"]
    backwards = [each.fold_via(Block.__call__, reverse=True) for each in (stack, BlockSeq.of(blocks(1, 1)))]
    assert told(backwards[0], X * jnp.nan) == ["layer 2: the carry that it is given has a NaN"]
    assert told(backwards[1], X * jnp.nan) == ["layer 1: the carry that it is given has a NaN"]


def test_a_nan_that_is_not_taken_is_none() -> None:
    stack = ArrayStacked.of(blocks(-1, -2))
    assert told(stack.fold_via(lambda layer, x: jnp.where(True, x, layer(x))), X) == []
    assert told(ArrayStacked.of(blocks(1, 2)).fold, X) == []


def test_each_layer_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    stack = ArrayStacked.of(blocks(1, -1))
    with check_layers():
        run = jax.jit(lambda x: stack.fold(x))
        for _ in range(3):
            jax.block_until_ready(run(X))
        jax.effects_barrier()
    assert capsys.readouterr().err == f"scanify: {log_of(1)[0]}\n"


@pytest.mark.parametrize("make", [ArrayStacked.of, BlockSeq.of])
def test_off_it_adds_nothing_and_on_it_changes_no_result(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = make(blocks(1, 2, 3))
    program = lambda: str(jax.make_jaxpr(lambda s, x: s.fold(x))(stack, X))  # noqa: E731
    before, value = program(), stack.fold(X)
    with check_layers(lambda text: None):
        assert "debug_callback" in program()
        assert jnp.array_equal(stack.fold(X), value)
    assert program() == before and "callback" not in before
    monkeypatch.setenv(switch._VARIABLE, "1")
    assert "debug_callback" in program()
    monkeypatch.setenv(switch._VARIABLE, "0")
    assert program() == before


def test_layers_have_names_in_profiles() -> None:
    for make in (ArrayStacked.of, BlockSeq.of):
        stack = make(blocks(1, 2, 3))
        assert re.search("Block/(.*/)?log", jax.jit(lambda s, x: s.fold(x)).lower(stack, X).as_text(debug_info=True))


@pytest.mark.parametrize(
    ("make", "note"),
    [
        (ArrayStacked.of, "raised while the one layer that stands for 2, of type Block, was traced"),
        (BlockSeq.of, "raised while layer 0, of type Block, was traced"),
    ],
)
def test_an_error_says_which_layer_was_traced(make: Any, note: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        make(blocks(1, 2)).fold(jnp.ones(3))
    assert note in raised.value.__notes__
