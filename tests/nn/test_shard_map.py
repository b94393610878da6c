"""Stacks under `jax.shard_map` on eight devices: replicated parameters, sharded data; in a process that has them."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec as P

from scanify.nn import ArrayStacked, BlockSeq

assert len(jax.devices()) == 8
kind = {"ArrayStacked": ArrayStacked, "BlockSeq": BlockSeq}[sys.argv[1]]


class Layer(eqx.Module):
    w: jax.Array

    def __call__(self, x, *, key=None):
        return x + jnp.tanh(self.w @ x)


def layers(count):
    return [Layer(jax.random.normal(jax.random.key(i), (4, 4))) for i in range(count)]


def loop(layers, x):
    for layer in layers:
        x = layer(x)
    return x


mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
xs = jax.random.normal(jax.random.key(0), (8, 4))


def run(model, apply, check):
    params, static = eqx.partition(model, eqx.is_array)

    def f(params, xs):
        return jax.vmap(lambda x: apply(eqx.combine(params, static), x))(xs)

    mapped = jax.shard_map(f, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"), check_vma=check)
    return jax.jit(lambda params, xs: (mapped(params, xs), jax.grad(lambda p: (mapped(p, xs) ** 2).sum())(params)))(params, xs)


CASES = {1: [(True, True)], 4: [(True, True), (True, False), (False, True), ("nested", True), ("dots", True)]}
for count, cases in CASES.items():
    want, grads = run(layers(count), loop, True)
    for policy, check in cases:
        stack = kind.of(layers(count), gradient_checkpointing=policy)
        got, mine = run(stack, lambda stack, x: stack.fold(x), check)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        for one, other in zip(mine, grads, strict=True):
            np.testing.assert_allclose(one.w, other.w, rtol=1e-4, atol=1e-4)


# A carry that begins the same on all devices and then varies; a loss that is carried; ys; and a sum over devices.
def folded(model, start, x):
    return model.fold_via(lambda layer, c, x: (layer(c[0]) + x, c[1] + (c[0] * x).sum()), in_axes=None)(start, x)


def looped(model, start, x):
    c = start
    for layer in model:
        c = layer(c[0]) + x, c[1] + (c[0] * x).sum()
    return c


def spread(model, apply):
    def f(x):
        carry, loss = apply(model, (jnp.zeros(4), 0.0), x[0])
        return carry[None], jax.lax.psum(loss, "x")

    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=(P("x"), P())))(xs)


want = spread(layers(4), looped)
for policy in (True, "nested"):
    got = spread(kind.of(layers(4), gradient_checkpointing=policy), folded)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
print("ok")
"""


@pytest.mark.parametrize("kind", ["ArrayStacked", pytest.param("BlockSeq", marks=pytest.mark.whole)])
def test_a_stack_of_replicated_layers_is_applied_to_sharded_data(kind: str) -> None:
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM), kind],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "ok", done.stderr[-3000:]
