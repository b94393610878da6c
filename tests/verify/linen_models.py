"""Models of Flax Linen with a loop over layers, and the same with `nn.scan`, as texts of modules."""

BLOCK = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Block(nn.Module):
    dim: int = 8
    rate: float = 0.5

    @nn.compact
    def __call__(self, x, scale=1.0, deterministic=True):
        y = nn.Dense(self.dim)(nn.LayerNorm()(x)) * scale
        y = nn.BatchNorm(use_running_average=deterministic)(y)
        y = nn.Dropout(self.rate, deterministic=deterministic)(y)
        y = nn.Dropout(0.25, deterministic=deterministic)(jnp.tanh(y))
        self.sow("intermediates", "seen", y)
        return x + y

"""

LOOP = f"""{BLOCK}
class Model(nn.Module):
    n: int = 3

    @nn.compact
    def __call__(self, x, train=True):
        for i in range(self.n):
            x = Block(name=f"layer_{{i}}")(x, 2.0, not train)
        return nn.Dense(2, name="head")(x)
"""

SCAN = f"""{BLOCK}
class Model(nn.Module):
    n: int = 3

    @nn.compact
    def __call__(self, x, train=True):
        def apply_layer(layer, x, _):
            x = layer(x, 2.0, not train)
            return x, None

        x, _ = nn.scan(
            apply_layer, variable_axes={{True: 0}}, split_rngs={{True: True}}, length=self.n
        )(Block(name="layers"), x, None)
        return nn.Dense(2, name="head")(x)
"""

# A family in each module of a family, and another one beside it.
DEEP_LOOP = f"""{BLOCK}
class Stage(nn.Module):
    def setup(self):
        self.blocks = [Block() for _ in range(2)]

    def __call__(self, x, train):
        for block in self.blocks:
            x = block(x, 1.0, not train)
        return x


class Model(nn.Module):
    def setup(self):
        self.stages = [Stage() for _ in range(3)]
        self.tail = [nn.Dense(8) for _ in range(2)]

    def __call__(self, x, train=True):
        for stage in self.stages:
            x = stage(x, train)
        for dense in self.tail:
            x = dense(x)
        return x
"""

DEEP_SCAN = f"""{BLOCK}
def scanned(apply_layer, length):
    return nn.scan(apply_layer, variable_axes={{True: 0}}, split_rngs={{True: True}}, length=length)


class Stage(nn.Module):
    def setup(self):
        self.blocks = Block()

    def __call__(self, x, train):
        x, _ = scanned(lambda block, x, _: (block(x, 1.0, not train), None), 2)(self.blocks, x, None)
        return x


class Model(nn.Module):
    def setup(self):
        self.stages = Stage()
        self.tail = nn.Dense(8)

    def __call__(self, x, train=True):
        x, _ = scanned(lambda stage, x, _: (stage(x, train), None), 3)(self.stages, x, None)
        x, _ = scanned(lambda dense, x, _: (dense(x), None), 2)(self.tail, x, None)
        return x
"""
