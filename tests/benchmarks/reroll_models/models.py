"""The models: a function and what it is given, for each. Building one raises ImportError where its package is not installed."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from tests.packages.models import MODELS

Built = tuple[Callable[..., Any], tuple[Any, ...]]
KEY = jax.random.key(0)


def packaged(name: str, file: str) -> Callable[[], Built]:
    """A model of `tests/packages`, as it is."""

    def build() -> Built:
        module: ModuleType = importlib.import_module(file)
        built = importlib.import_module(f"tests.packages.cases.{name}").case(module)
        model, args, kwargs = (*built, {})[:3]
        return lambda model, *args: model(*args, **kwargs), (model, *args)

    return build


def nnx_transformer() -> Built:
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.norm = nnx.LayerNorm(32, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(
                4, 32, dropout_rate=0.1, decode=False, deterministic=False, rngs=rngs
            )
            self.up, self.down = nnx.Linear(32, 128, rngs=rngs), nnx.Linear(128, 32, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            x = x + self.attention(self.norm(x))
            return x + self.down(nnx.gelu(self.up(x)))

    rngs = nnx.Rngs(0)
    graph, params, rest = nnx.split(nnx.Sequential(*(Block(rngs) for _ in range(8))), nnx.Param, ...)
    return lambda params, rest, x: nnx.merge(graph, params, rest, copy=True)(x), (
        params,
        rest,
        jax.random.normal(KEY, (2, 8, 32)),
    )


def nnx_cells() -> Built:
    from flax import nnx

    cells = nnx.List([nnx.OptimizedLSTMCell(16, 16, rngs=nnx.Rngs(at)) for at in range(8)])
    graph, params, rest = nnx.split(cells, nnx.Param, ...)

    def f(params: Any, rest: Any, x: Any) -> Any:
        for cell in nnx.merge(graph, params, rest):
            _, x = cell((jnp.zeros((2, 16)), jnp.zeros((2, 16))), x)
        return x

    return f, (params, rest, jax.random.normal(KEY, (2, 16)))


def linen_transformer(rate: float) -> Built:
    from flax import linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            for _ in range(8):
                x = x + nn.SelfAttention(4, dropout_rate=rate, deterministic=not rate)(nn.LayerNorm()(x))
                y = nn.Dense(32)(nn.gelu(nn.Dense(128)(nn.LayerNorm()(x))))
                x = x + nn.Dropout(rate, deterministic=not rate)(y)
            return x

    x = jax.random.normal(KEY, (2, 8, 32))
    params = Model().init({"params": KEY, "dropout": KEY}, x)
    return lambda params, x, key: Model().apply(params, x, rngs={"dropout": key}), (params, x, KEY)


def linen_convolutions() -> Built:
    from flax import linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            for _ in range(8):
                x = x + nn.gelu(nn.GroupNorm(4)(nn.Conv(16, (3, 3))(x)))
            return x

    x = jax.random.normal(KEY, (1, 8, 8, 16))
    return Model().apply, (Model().init(KEY, x), x)


def linen_cells() -> Built:
    from flax import linen as nn

    model = nn.Sequential([nn.RNN(nn.GRUCell(16)) for _ in range(6)])
    x = jax.random.normal(KEY, (2, 5, 16))
    return model.apply, (model.init(KEY, x), x)


def haiku(net: Callable[[Any, Any], Callable[..., Any]], *shape: int) -> Callable[[], Built]:
    def build() -> Built:
        import haiku as hk

        made = hk.transform_with_state(lambda x: net(hk, x))
        x = jnp.linspace(0, 1, jnp.prod(jnp.array(shape)).item()).reshape(shape)
        params, state = made.init(KEY, x)
        return lambda params, state, x: made.apply(params, state, KEY, x), (params, state, x)

    return build


def _haiku_transformer(hk: Any, x: Any) -> Any:
    for _ in range(8):
        norm = hk.LayerNorm(-1, True, True)
        y = norm(x)
        x = x + hk.dropout(
            hk.next_rng_key(), 0.1, hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(1.0))(y, y, y)
        )
        x = x + hk.nets.MLP([128, 32], activation=jax.nn.gelu)(hk.LayerNorm(-1, True, True)(x))
    return x


def graph_network() -> Built:
    import haiku as hk
    import jraph

    def update(*parts: Any) -> Any:
        return hk.nets.MLP([16, 16], activation=jax.nn.gelu)(jnp.concatenate(parts[:3], axis=-1))

    def net(graph: Any) -> Any:
        for _ in range(8):
            new = jraph.GraphNetwork(lambda e, s, r, g: update(e, s, r), lambda n, s, r, g: update(n, s, r), None)(
                graph
            )
            graph = new._replace(nodes=graph.nodes + new.nodes, edges=graph.edges + new.edges)
        return graph.nodes

    graph = jraph.GraphsTuple(
        jax.random.normal(KEY, (5, 16)), jax.random.normal(KEY, (6, 16)), jnp.array([0, 1, 2, 3, 4, 0]), jnp.array([1, 2, 3, 4, 0, 2]),
        jax.random.normal(KEY, (1, 1)), jnp.array([5]), jnp.array([6]),
    )  # fmt: skip
    made = hk.without_apply_rng(hk.transform(net))
    return lambda params, nodes: made.apply(params, graph._replace(nodes=nodes)), (made.init(KEY, graph), graph.nodes)


def vit() -> Built:
    from equimo.vision.models import VisionTransformer

    model = VisionTransformer(
        img_size=32, in_channels=3, dim=32, patch_size=8, num_heads=4, depths=[8], num_classes=10, key=KEY
    )
    return lambda model, x: model(x, key=KEY), (model, jax.random.normal(KEY, (3, 32, 32)))


def linen(module: str, name: str, side: int, **options: Any) -> Callable[[], Built]:
    """A model of a diffusion: of images, times and a text."""

    def build() -> Built:
        model = getattr(importlib.import_module(module), name)(**options)
        given = jax.random.normal(KEY, (1, side, side, 3)), jnp.ones((1,)), jax.random.normal(KEY, (1, 4, 8))
        return model.apply, (jax.jit(model.init)(KEY, *given), *given)

    return build


def mamba() -> Built:
    import mamba2_jax
    from flax import nnx

    config = mamba2_jax.Mamba2Config(
        vocab_size=64, hidden_size=32, state_size=8, head_dim=16, chunk_size=8, num_hidden_layers=8
    )
    graph, params, rest = nnx.split(mamba2_jax.Mamba2Model(config, rngs=nnx.Rngs(0)), nnx.Param, ...)

    def f(params: Any, rest: Any, x: Any) -> Any:
        return jax.tree.leaves(nnx.merge(graph, params, rest, copy=True)(inputs_embeds=x))

    return f, (params, rest, jax.random.normal(KEY, (1, 8, 32)))


def mixer() -> Built:
    """The blocks of an MLP-Mixer, as the examples of Equinox have them, of its layers."""

    class Block(eqx.Module):
        patches: eqx.nn.MLP
        channels: eqx.nn.MLP
        norms: list[eqx.nn.LayerNorm]

        def __init__(self, key: Any) -> None:
            one, other = jax.random.split(key)
            self.patches = eqx.nn.MLP(16, 16, 32, 1, key=one)
            self.channels = eqx.nn.MLP(8, 8, 32, 1, key=other)
            self.norms = [eqx.nn.LayerNorm((8, 16)), eqx.nn.LayerNorm((16, 8))]

        def __call__(self, y: Any) -> Any:
            y = y + jax.vmap(self.patches)(self.norms[0](y))
            y = y.T
            y = y + jax.vmap(self.channels)(self.norms[1](y))
            return y.T

    def f(blocks: Any, x: Any) -> Any:
        for block in blocks:
            x = block(x)
        return x

    return f, ([Block(key) for key in jax.random.split(KEY, 8)], jax.random.normal(KEY, (8, 16)))


def mixture_of_experts() -> Built:
    """Plain JAX: top-1 routing, an auxiliary loss that begins as 0.0, and a drop rate that grows with depth."""
    keys = jax.random.split(KEY, 8)
    layers = [{"gate": jax.random.normal(k, (16, 4)), "w": jax.random.normal(k, (4, 16, 16)) / 4} for k in keys]

    def f(layers: Any, x: Any) -> Any:
        loss: Any = 0.0
        for at, layer in enumerate(layers):
            gates = jax.nn.softmax(x @ layer["gate"])
            best = jax.nn.one_hot(gates.argmax(-1), 4)
            y = jnp.einsum("td,edf,te->tf", x, layer["w"], best * gates)
            keep = jax.random.bernoulli(jax.random.fold_in(KEY, at), 1 - at / 20, (x.shape[0], 1))
            loss = loss + (best.mean(0) * gates.mean(0)).sum()
            x = x + jax.nn.gelu(y) * keep
        return x, loss

    return f, (layers, jax.random.normal(KEY, (6, 16)))


BUILDERS: dict[str, Callable[[], Built]] = {
    **{f"{each.package}: {each.title}": packaged(each.name, each.module) for each in MODELS},
    "equimo: ViT": vit,
    "equinox: MLP-Mixer": mixer,
    "flaxdiff: U-Net of a diffusion": linen("flaxdiff.models.simple_unet", "Unet", 8, emb_features=16, feature_depths=[8, 8], attention_configs=[{"heads": 2}] * 2, num_res_blocks=4, norm_groups=4),
    "flaxdiff: S5 state spaces": linen("flaxdiff.models.ssm_dit", "HybridSSMAttentionDiT", 16, patch_size=4, emb_features=32, num_layers=8, num_heads=4, ssm_attention_ratio="1:0", ssm_state_dim=8),
    "mamba2-jax: Mamba2": mamba,
    "flax NNX: transformer, dropout": nnx_transformer,
    "flax NNX: LSTM cells": nnx_cells,
    "flax Linen: transformer": lambda: linen_transformer(0.0),
    "flax Linen: transformer, dropout": lambda: linen_transformer(0.1),
    "flax Linen: convolutions": linen_convolutions,
    "flax Linen: GRU over time": linen_cells,
    "haiku: transformer, dropout": haiku(_haiku_transformer, 2, 8, 32),
    "haiku: ResNet-50": haiku(lambda hk, x: hk.nets.ResNet50(10)(x, is_training=True), 1, 32, 32, 3),
    "haiku: MobileNet": haiku(lambda hk, x: hk.nets.MobileNetV1(num_classes=10)(x, is_training=True), 1, 32, 32, 3),
    "jraph: graph network": graph_network,
    "jax: mixture of experts": mixture_of_experts,
}  # fmt: skip
