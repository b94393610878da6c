"""Names that a remat policy speaks of, and memory that a device may not have."""

import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, ScanCheckpointPolicy, remat_policy_override, tree_checkpoint_name


class Layer(eqx.Module):
    w: jax.Array


def fold(step: Any, policy: ScanCheckpointPolicy) -> Any:
    layers = [Layer(jnp.float32(i)) for i in range(3)]
    return ArrayStacked.of(layers, gradient_checkpointing=policy).fold_via(step)(jnp.ones(2))


def product(layer: Any, x: Any) -> Any:
    return x * layer.w


@jax.custom_vjp
def hiding(x: Any) -> Any:
    return jnp.sin(x)


hiding.defvjp(lambda x: (jnp.sin(x), tree_checkpoint_name(jnp.cos(x), "named")), lambda cos, ct: (cos * ct,))


STEPS: dict[str, Any] = {
    "in the body": lambda layer, x: tree_checkpoint_name(product(layer, x), "named"),
    "in a pytree": lambda layer, x: tree_checkpoint_name({"a": product(layer, x), "b": (2, None)}, "named")["a"],
    "under jit": lambda layer, x: jax.jit(lambda x: tree_checkpoint_name(product(layer, x), "named"))(x),
    "under cond": lambda layer, x: jax.lax.cond(
        x.sum() > 0, lambda x: tree_checkpoint_name(product(layer, x), "named"), lambda x: x, x
    ),
    "in a scan": lambda layer, x: jax.lax.scan(lambda c, _: (tree_checkpoint_name(c, "named"), None), x, length=2)[0],
    "in the forward pass of a derivative of its own": lambda layer, x: hiding(product(layer, x)),
    "beside functions with derivatives of their own": lambda layer, x: jax.nn.relu(
        tree_checkpoint_name(product(layer, x), "named")
    ),
}


@pytest.mark.parametrize("nested", [False, True, 2])
@pytest.mark.parametrize("where", STEPS)
def test_a_name_is_found(where: str, nested: Any) -> None:
    named = ScanCheckpointPolicy(save_block_internals=("named",), nested=nested)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fold(STEPS[where], named).shape == (2,)


def test_every_name_that_nobody_sets_is_told_and_every_one_that_is_set() -> None:
    policy = ScanCheckpointPolicy(save_block_internals=("a", "named"), offload_block_internals=("b",))
    with pytest.warns(UserWarning, match=r"names 'a', 'b', which nothing .*; names that are given: 'named'\. "):
        fold(STEPS["in the body"], policy)
    for step in (product, lambda layer, x: jax.nn.relu(product(layer, x))):
        with pytest.warns(UserWarning, match="names that are given: none"):
            fold(step, policy)


def test_names_are_looked_for_where_a_number_settles_too() -> None:
    layers = [Layer(jnp.float32(i)) for i in range(3)]
    stack = ArrayStacked.of(layers, gradient_checkpointing=ScanCheckpointPolicy(save_block_internals=("a",)))
    with pytest.warns(UserWarning, match="names 'a'"):
        assert stack.fold_via(lambda layer, x: x + layer.w)(0) == 3.0


def test_names_of_an_override_are_looked_for_too() -> None:
    with (
        remat_policy_override(ScanCheckpointPolicy(save_block_internals=("a",))),
        pytest.warns(UserWarning, match="'a'"),
    ):
        fold(product, ScanCheckpointPolicy())


def test_a_device_without_host_memory_is_told_when_the_layers_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    class Memory:
        kind = "hbm"

    class Device:
        platform = "npu"

        def addressable_memories(self) -> list[Memory]:
            return [Memory()]

    monkeypatch.setattr(jax, "local_devices", lambda: [Device()])
    with pytest.raises(
        ValueError, match=r"offloads to 'pinned_host' memory, which npu devices do not have \(they have hbm\)"
    ):
        fold(product, ScanCheckpointPolicy(save_carries="offload"))
    assert fold(product, ScanCheckpointPolicy()).shape == (2,)
