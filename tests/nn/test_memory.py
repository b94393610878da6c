"""Temporary memory of compiled gradients on a CPU: what remat promises, held to a scan written by hand."""

import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.nn import ArrayStacked, BlockSeq, ScanCheckpointPolicy
from scanify.nn.scans.loop import best_chunk_size


class Block(eqx.Module):
    up: Any
    down: Any

    def __call__(self, x: Any) -> Any:
        return x + jax.nn.gelu(x @ self.up) @ self.down


def shapes(count: int, width: int, batch: int) -> tuple[Block, Any]:
    up, down = (count, width, 4 * width), (count, 4 * width, width)
    block = Block(jax.ShapeDtypeStruct(up, jnp.float32), jax.ShapeDtypeStruct(down, jnp.float32))
    return block, jax.ShapeDtypeStruct((batch, width), jnp.float32)


def zeros(width: int) -> Block:
    return Block(jnp.zeros((width, 4 * width)), jnp.zeros((4 * width, width)))


def temporaries(function: Any, *args: Any) -> int:
    compiled = jax.jit(jax.grad(lambda *args: (function(*args) ** 2).sum())).lower(*args).compile()
    return int(compiled.memory_analysis().temp_size_in_bytes)


@functools.cache
def stacked(policy: Any, count: int, width: int, batch: int) -> int:
    """Bytes of temporaries of a gradient through a stack."""
    block, x = shapes(count, width, batch)
    return temporaries(lambda stack, x: stack.fold(x), ArrayStacked(block, count, policy), x)


def by_hand(remat: bool, count: int, width: int, batch: int) -> int:
    def step(x: Any, block: Any) -> Any:
        return block(x), None

    body = jax.checkpoint(step, prevent_cse=False) if remat else step
    block, x = shapes(count, width, batch)
    return temporaries(lambda block, x: jax.lax.scan(body, x, block)[0], block, x)


ACTIVATIONS, PARAMETERS = (64, 64, 4096), (48, 256, 64)


@pytest.mark.parametrize("remat", [True, False])
@pytest.mark.parametrize("size", [ACTIVATIONS, PARAMETERS], ids=["activations", "parameters"])
def test_a_stack_needs_no_more_than_a_scan_by_hand(size: Any, remat: bool) -> None:
    assert stacked(remat, *size) <= 1.02 * by_hand(remat, *size)


class Kind(Block):
    bends: bool = eqx.field(static=True, default=False)

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(super().__call__(x)) if self.bends else super().__call__(x)


@pytest.mark.parametrize("order", [(False, True), (False, False, False, True)], ids=["pairs", "runs"])
def test_a_period_needs_no_more_than_a_scan_over_periods_by_hand(order: tuple[bool, ...]) -> None:
    count, width, batch = PARAMETERS
    block, x = shapes(count, width, batch)
    size, rounds = len(order), count // len(order)
    kinds = [Kind(jnp.zeros((width, 4 * width)), jnp.zeros((4 * width, width)), bends) for bends in order * rounds]

    def one(bends: bool) -> Any:
        return jax.checkpoint(lambda up, down, x: Kind(up, down, bends)(x), prevent_cse=False)

    def period(x: Any, block: Any) -> Any:
        for at, bends in enumerate(order):
            x = one(bends)(block.up[at], block.down[at], x)
        return x, None

    def pairs(block: Any, x: Any) -> Any:
        split = jax.tree.map(lambda array: array.reshape(rounds, size, *array.shape[1:]), block)
        return jax.lax.scan(period, x, split)[0]

    found = temporaries(lambda stack, x: stack.fold(x), jax.eval_shape(lambda: BlockSeq.of(kinds)), x)
    assert found <= 1.1 * temporaries(pairs, block, x)


def test_features_of_some_layers_need_no_more_than_a_scan_by_hand() -> None:
    count, width, batch = PARAMETERS
    block, x = shapes(count, width, batch)
    wanted = (count // 4, count // 2, count - 1)

    def step(x: Any, block: Any) -> Any:
        x = block(x)
        return x, x

    def by_hand(block: Any, x: Any) -> Any:
        ys = jax.lax.scan(jax.checkpoint(step, prevent_cse=False), x, block)[1]
        return jnp.stack([jnp.tanh(ys[at]) for at in wanted])

    def layer(block: Any, x: Any, at: int) -> Any:
        x = block(x)
        return x, [jnp.tanh(x)] if at in wanted else []

    def features(stack: Any, x: Any) -> Any:
        ys = stack.collect_via(layer, in_axes=(0,))(x, range(count))[1]
        return jnp.stack([each for y in ys for each in y])

    stack = jax.eval_shape(lambda: BlockSeq.of([zeros(width) for _ in range(count)]))
    assert temporaries(features, stack, x) <= 1.1 * temporaries(by_hand, block, x)


@pytest.mark.parametrize(
    "size",
    [ACTIVATIONS, (61, 64, 4096), (61, 64, 1024), PARAMETERS, (47, 256, 64), (47, 128, 1024)],
    ids=["activations", "61 layers", "61 small carries", "parameters", "47 layers of parameters", "47 layers of both"],
)
def test_nested_never_needs_more_than_simple_remat(size: Any) -> None:
    assert stacked("nested", *size) <= stacked(True, *size)


def test_nested_needs_at_most_half_of_simple_remat_where_activations_are_large() -> None:
    assert stacked("nested", *ACTIVATIONS) <= 0.5 * stacked(True, *ACTIVATIONS)


def test_nested_saves_memory_for_a_prime_number_of_layers() -> None:
    assert stacked("nested", 61, 64, 4096) <= 0.55 * stacked(True, 61, 64, 4096)  # 0.51 on jax 0.10, 0.54 on 0.12


@pytest.mark.whole
def test_a_shorter_last_chunk_is_taken_where_its_copy_of_the_parameters_is_worth_it() -> None:
    assert stacked("nested", 61, 64, 1024) <= 0.95 * stacked(True, 61, 64, 1024)


@pytest.mark.whole
def test_dots_needs_less_than_no_remat_and_more_than_full() -> None:
    size = (16, 64, 1024)
    assert stacked(True, *size) < stacked("dots", *size) < 0.7 * stacked(False, *size)


def test_a_number_of_chunks_is_taken_at_its_word() -> None:
    """Two chunks of 32 keep 2 + 32 carries of a MB, eight chunks of 8 keep 8 + 8."""
    two, eight = (stacked(ScanCheckpointPolicy(nested=chunks), *ACTIVATIONS) for chunks in (2, 8))
    assert 15e6 < two - eight < 30e6


class TestTheChoiceOfChunks:
    @pytest.mark.parametrize("length", [9, 16, 64, 100])
    def test_without_parameters_it_is_the_square_root(self, length: int) -> None:
        assert best_chunk_size(10**6, 0, length) == math.isqrt(length)

    def test_where_parameters_outweigh_carries_it_is_one_scan(self) -> None:
        assert best_chunk_size(10**3, 48 * 10**6, 48) == 48

    @given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 200))
    def test_it_is_a_number_of_layers(self, carry: int, xs: int, length: int) -> None:
        assert 1 <= best_chunk_size(carry, xs, length) <= length

    @given(st.integers(1, 10**6), st.integers(2, 300))
    def test_it_keeps_about_twice_the_square_root_of_carries(self, carry: int, length: int) -> None:
        size = best_chunk_size(carry, 0, length)
        kept = length if size == length else math.ceil(length / size) + size
        assert kept <= 2 * math.sqrt(length) + 1
