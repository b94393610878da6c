"""Stages of residual blocks that thread a State through batch normalisation; the first block of a stage may differ."""

from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from tests.packages.applied import applied


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    model, state = eqx.nn.make_with_state(module.ResNet)(
        block=module.BasicBlock,
        layers=[4, 4, 1, 1],
        n_classes=4,
        key=jax.random.key(0),
        dtype=jnp.float32,
        axis_name="batch",
        zero_init_residual=False,
        groups=1,
        width_per_group=64,
        replace_stride_with_dilation=None,
        input_channels=3,
    )
    images = jnp.sin(jnp.arange(2 * 3 * 32 * 32.0)).reshape(2, 3, 32, 32)
    return applied(batched, model), (images, state)


def batched(model: Any, images: Any, state: Any) -> Any:
    return jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(images, state)


class Once(eqx.Module):
    """All blocks of a stage as one: the stage's own loop then goes over a list of one."""

    blocks: Any

    def __call__(self, x: Any, state: Any, *, inference: bool) -> Any:
        def step(block: Any, carry: Any) -> Any:
            return block(*carry, inference=inference)

        return self.blocks.fold_via(step)((x, state))


def by_hand(stack: Any, applied: Any, images: Any, state: Any) -> Any:
    model = applied.model
    for name in ("layer1", "layer2"):
        blocks = getattr(model, name).blocks
        model = eqx.tree_at(lambda model, name=name: getattr(model, name).blocks, model, [Once(stack(blocks))])
    return batched(model, images, state)
