"""Models that nobody here wrote, rerolled: `python -m tests.benchmarks.reroll_models [NAME ...]` prints a table of them.

Those of `tests/packages`, and models of what Flax, Haiku, jraph and Equinox come with; one whose packages are not installed
is left out. For each: what is found in the forward program, whether it is proved, how values and gradients compare with
the model's own, and what compiling the gradient costs, as seconds of the process's own CPU time.
"""

import argparse
import importlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.jaxpr.reading.calls import opened
from scanify.rolling import NotRerolled, reroll
from scanify.rolling.find.choose import ON_CPU
from scanify.rolling.find.program import flat
from scanify.rolling.roll import rolled
from scanify.rolling.scans.plan import planned
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


def equimo(name: str, **options: Any) -> Callable[[], Built]:
    def build() -> Built:
        models = importlib.import_module("equimo.vision.models")
        model = getattr(models, name)(key=KEY, **options)
        return lambda model, x: model(x, key=KEY), (model, jax.random.normal(KEY, (3, 32, 32)))

    return build


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
    "equimo: ViT": equimo("VisionTransformer", img_size=32, in_channels=3, dim=32, patch_size=8, num_heads=4, depths=[8], num_classes=10),
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


@dataclass(frozen=True)
class Cost:
    lines: int
    compile: float
    temporaries: int
    step: float
    results: list[Any]


def cost(f: Callable[..., Any], args: tuple[Any, ...]) -> Cost:
    """Of the values and the gradient with respect to the first argument."""
    moved, fixed = eqx.partition(args[0], eqx.is_inexact_array)
    others, static = eqx.partition(args[1:], eqx.is_array)

    def total(moved: Any, others: Any) -> Any:
        results = f(eqx.combine(moved, fixed), *eqx.combine(others, static))
        inexact = [each for each in jax.tree.leaves(results) if eqx.is_inexact_array(each)]
        # What is complex has a real sum of squares.
        return sum((jnp.abs(each) ** 2).sum() for each in inexact), inexact

    jax.clear_caches()
    lowered = jax.jit(jax.value_and_grad(total, has_aux=True)).lower(moved, others)
    start = time.process_time()
    compiled = lowered.compile()
    seconds = time.process_time() - start
    results, steps = compiled(moved, others), []
    for _ in range(10):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(moved, others))
        steps.append(time.perf_counter() - begin)
    temporaries = compiled.memory_analysis().temp_size_in_bytes
    return Cost(lowered.as_text().count("\n"), seconds, temporaries, min(steps), [results[0][1], results[1]])


def row(name: str, build: Callable[[], Built]) -> str:
    f, args = build()
    closed = eqx.filter_make_jaxpr(f)(*args)[0]
    leaves = [each for each in jax.tree.leaves(args) if eqx.is_array(each)]
    found = rolled(closed, [*closed.consts, *leaves], least=3, policy=None)
    size = len(flat(opened(closed)[0]).operations)
    scans = ", ".join(
        f"{s.roll.wired.count} x {s.roll.wired.period}" for around, _, s in found.plan.all_scans() if not around
    )
    if not found.plan.rolls:
        return f"| {name} | {size:,} | nothing | | | | | | | |"
    proof = "PROVED" if found.proof().proved else "not proved"
    fitted = planned(flat(opened(closed)[0]), 3, ON_CPU)
    scans += "" if fitted.rolls else " (left by default)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotRerolled)
        theirs, ours = cost(f, args), cost(reroll(f, min_layers=3), args)
    values, gradients = (_apart(one, other) for one, other in zip(ours.results, theirs.results, strict=True))
    pairs = [
        (theirs.lines, ours.lines, ",.0f"), (theirs.compile, ours.compile, ".1f"),
        (theirs.temporaries / 1e6, ours.temporaries / 1e6, ".2f"), (theirs.step * 1e3, ours.step * 1e3, ".1f"),
    ]  # fmt: skip
    cells = " | ".join(f"{a:{form}} -> {b:{form}} ({b / a if a else 1:.2f})" for a, b, form in pairs)
    return f"| {name} | {size:,} | {scans or 'inside'} | {proof} | {values} | {gradients} | {cells} |"


def _apart(ours: Any, theirs: Any) -> str:
    """How far two pytrees of arrays are apart, relative to the largest number in them."""
    pairs = [pair for pair in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True) if pair[0].size]
    largest = max((float(jnp.max(jnp.abs(other))) for _, other in pairs), default=0.0) or 1.0
    worst = max((float(jnp.max(jnp.abs(one - other))) for one, other in pairs), default=0.0) / largest
    return "same bits" if worst == 0 else f"{worst:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reroll_models", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names (default: all)")
    given = parser.parse_args()
    print(f"{jax.devices()[0].platform}, jax {jax.__version__}\n")
    print(
        "| model | equations | found | proof | values | gradients | StableHLO lines | compile s | temporaries MB | step ms |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, build in BUILDERS.items():
        if given.names and not any(part in name for part in given.names):
            continue
        try:
            print(row(name, build), flush=True)
        except ImportError as error:
            print(f"| {name} | not installed: {error.name} |" + " |" * 8, flush=True)
        except Exception as error:
            print(f"| {name} | {type(error).__name__}: {str(error)[:150]!r} |" + " |" * 8, flush=True)


if __name__ == "__main__":
    main()
