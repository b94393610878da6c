"""A stack is lowered to the program of a scan written by hand: nothing is added, so nothing can be slower."""

import re
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, BlockSeq

COUNT, CHUNK = 16, 4


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, *, key: Any) -> None:
        up, down = jax.random.split(key)
        self.norm, self.up = eqx.nn.LayerNorm(8), eqx.nn.Linear(8, 16, key=up)
        self.down = eqx.nn.Linear(16, 8, key=down)

    def __call__(self, x: Any) -> Any:
        return x + jax.vmap(self.down)(jax.nn.gelu(jax.vmap(self.up)(jax.vmap(self.norm)(x))))


def stablehlo(apply: Callable[[Any, Any], Any], parameters: Any) -> str:
    """The gradient's program, without the key paths that name its results."""
    loss = jax.grad(lambda parameters, x: (apply(parameters, x) ** 2).sum(), argnums=(0, 1))
    text = jax.jit(loss).lower(parameters, jnp.ones((256, 8))).as_text()
    return re.sub(r'jax\.result_info = "[^"]*"', "", text)


def once(body: Any) -> Callable[[Any, Any], Any]:
    return lambda xs, x: jax.lax.scan(body, x, xs)[0]


def in_chunks(body: Any) -> Callable[[Any, Any], Any]:
    inner = jax.checkpoint(body, prevent_cse=False)
    outer = jax.checkpoint(lambda x, xs: (jax.lax.scan(inner, x, xs)[0], None), prevent_cse=False)
    return lambda xs, x: once(outer)(jax.tree.map(lambda leaf: leaf.reshape(-1, CHUNK, *leaf.shape[1:]), xs), x)


BY_HAND: dict[Any, Callable[[Any], Callable[[Any, Any], Any]]] = {
    False: once,
    True: lambda body: once(jax.checkpoint(body, prevent_cse=False)),
    "dots": lambda body: once(
        jax.checkpoint(body, prevent_cse=False, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    ),
    "nested": in_chunks,
}


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
@pytest.mark.parametrize("policy", BY_HAND, ids=str)
def test_equal_layers_are_the_program_of_a_scan_by_hand(kind: Any, policy: Any) -> None:
    layers = [Block(key=key) for key in jax.random.split(jax.random.key(0), COUNT)]
    stack, static = eqx.partition(kind.of(layers, gradient_checkpointing=policy), eqx.is_array)
    leaves = jax.tree.map(lambda *rows: jnp.stack(rows), *[eqx.filter(one, eqx.is_array) for one in layers])
    rest = eqx.filter(layers[0], eqx.is_array, inverse=True)

    def body(x: Any, leaves: Any) -> Any:
        return eqx.combine(leaves, rest)(x), None

    ours = stablehlo(lambda stack, x: eqx.combine(stack, static).fold(x), stack)
    assert ours == stablehlo(BY_HAND[policy](body), leaves)
