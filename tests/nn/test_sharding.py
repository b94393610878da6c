"""Parameters that are sharded over eight devices, in a process that has them."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

from scanify.nn import ArrayStacked, BlockSeq, remat_policy_override

assert len(jax.devices()) == 8


class Block(eqx.Module):
    up: jax.Array
    down: jax.Array
    bias: jax.Array

    def __call__(self, x):
        return x + jnp.tanh(x @ self.up) @ self.down + self.bias


mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
SPECS = {"up": P(None, "model"), "down": P("model"), "bias": P()}
keys = jax.random.split(jax.random.key(0), (6, 3))
plain = [
    Block(0.3 * jax.random.normal(a, (8, 16)), 0.3 * jax.random.normal(b, (16, 8)), jax.random.normal(c, (8,)))
    for a, b, c in keys
]
sharded = [
    Block(**{name: jax.device_put(getattr(block, name), NamedSharding(mesh, spec)) for name, spec in SPECS.items()})
    for block in plain
]
x = jax.random.normal(jax.random.key(1), (4, 8))
xs = jax.device_put(x, NamedSharding(mesh, P("data")))

stack = ArrayStacked.of(sharded)
for name, spec in SPECS.items():
    leaf = getattr(stack.stacked, name)
    expected = NamedSharding(mesh, P(None, *spec))
    assert leaf.sharding.is_equivalent_to(expected, leaf.ndim), (name, leaf.sharding)
    assert leaf.addressable_shards[0].data.shape[0] == 6
    layer = getattr(stack[2], name)
    assert layer.sharding.is_equivalent_to(NamedSharding(mesh, spec), layer.ndim), (name, layer.sharding)


def loop(layers, x):
    for layer in layers:
        x = layer(x)
    return (x**2).sum()


value, grads = jax.jit(jax.value_and_grad(loop))(plain, x)
wanted = [np.stack([getattr(layer, name) for layer in grads]) for name in SPECS]
for policy in (False, True, "nested", "dots", "offload"):
    with remat_policy_override(policy):
        got, mine = jax.jit(jax.value_and_grad(lambda stack, x: (stack.fold(x) ** 2).sum()))(stack, xs)
    np.testing.assert_allclose(got, value, rtol=1e-5)
    for name, one in zip(SPECS, wanted):
        leaf = getattr(mine.stacked, name)
        np.testing.assert_allclose(leaf, one, rtol=2e-4, atol=1e-4)
        if policy == "nested":
            assert leaf.sharding.is_equivalent_to(getattr(stack.stacked, name).sharding, leaf.ndim), (name, leaf.sharding)

blocks = BlockSeq.of(sharded)
for name, spec in SPECS.items():
    leaf = getattr(blocks.stacks[0], name)
    assert leaf.sharding.is_equivalent_to(NamedSharding(mesh, P(None, *spec)), leaf.ndim), (name, leaf.sharding)
for policy in (True, "nested"):
    with remat_policy_override(policy):
        got, mine = jax.jit(jax.value_and_grad(lambda blocks, x: (blocks.fold(x) ** 2).sum()))(blocks, xs)
    np.testing.assert_allclose(got, value, rtol=1e-5)
    for name, one in zip(SPECS, wanted):
        np.testing.assert_allclose(getattr(mine.stacks[0], name), one, rtol=2e-4, atol=1e-4)

explicit = jax.make_mesh((8,), ("model",), axis_types=(jax.sharding.AxisType.Explicit,))
with jax.set_mesh(explicit):
    put = lambda leaf, spec: jax.device_put(leaf, NamedSharding(explicit, spec))
    layers = [Block(put(b.up, P(None, "model")), put(b.down, P("model", None)), put(b.bias, P())) for b in plain]
    typed = ArrayStacked.of(layers)
    assert jax.typeof(typed.stacked.up).sharding.spec == P(None, None, "model")
    layer = typed[1]
    assert jax.typeof(layer.up).sharding.spec == P(None, "model")

shapes = [
    Block(**{k: jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=v.sharding) for k, v in vars(block).items()})
    for block in sharded
]
abstract = ArrayStacked.of(shapes)
assert abstract.stacked.up.sharding == NamedSharding(mesh, P(None, None, "model"))
print("ok")
"""


def test_stacked_parameters_keep_their_sharding_behind_an_axis_that_is_not_sharded() -> None:
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "ok", done.stderr[-3000:]
