"""Lists of dilated convolutions with a residual around each list: what is equal are the lists, not what is in them."""

from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from ginjax import geometric

from tests.packages.applied import applied

SCALAR = ((), 0)


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    signature = geometric.Signature(((SCALAR, 1),))
    net = module.DilResNet(
        2,
        signature,
        signature,
        depth=4,
        num_blocks=3,
        activation_f=jax.nn.relu,
        equivariant=False,
        kernel_size=3,
        key=jax.random.key(0),
    )
    image = jnp.sin(jnp.arange(64.0)).reshape(1, 8, 8)
    return applied(lambda net, x: jax.tree.leaves(net(x)[0]), net), (geometric.MultiImage({SCALAR: image}, 2, True),)


class Residual(eqx.Module):
    """One list of the model as a layer."""

    layers: list[Any]

    def __call__(self, x: Any) -> Any:
        y = x
        for layer in self.layers:
            y, _ = layer(y)
        return y + x


def by_hand(stack: Any, applied: Any, x: Any) -> Any:
    net = applied.model
    x = x.to_scalar_multi_image()
    for layer in net.encoder:
        x, _ = layer(x)
    x = stack(map(Residual, net.blocks)).fold(x)
    for layer in net.decoder:
        x, _ = layer(x)
    return jax.tree.leaves(geometric.MultiImage.from_scalar_multi_image(x, net.output_keys))
