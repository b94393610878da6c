"""What a sequence of unequal layers costs as a `BlockSeq`, against its own loop: `python -m tests.benchmarks.unequal`.

Trace, lower and compile seconds, StableHLO lines and temporaries of the gradient, each a ratio to the loop's in the same
process. The loop remats each layer, as the `BlockSeq` does.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn import BlockSeq

DIM, ROWS = 64, 1024


class Block(eqx.Module):
    """An MLP with a residual; `rate` is a drop-path rate, `tag` a field that is read where it is "global"."""

    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    index: int = eqx.field(static=True)
    rate: float = 0.0
    tag: str = eqx.field(static=True, default="local")

    def __init__(self, index: int, *, rate: float = 0.0, tag: str = "local", hidden: int = 4 * DIM) -> None:
        up, down = jax.random.split(jax.random.key(index))
        self.norm, self.up = eqx.nn.LayerNorm(DIM), eqx.nn.Linear(DIM, hidden, key=up)
        self.down = eqx.nn.Linear(hidden, DIM, key=down)
        self.index, self.rate, self.tag = index, rate, tag

    def __call__(self, x: Any, key: Any = None) -> Any:
        y = jax.vmap(lambda row: self.down(jax.nn.gelu(self.up(self.norm(row)))))(x)
        if self.tag == "global":
            y = y - y.mean(axis=0)
        if key is not None and self.rate > 0:
            y = jnp.where(jax.random.bernoulli(key, 1 - self.rate), y / (1 - self.rate), 0)
        return x + y


@dataclass(frozen=True)
class Sequence48:
    """A name, the layers, and whether each is called with a key."""

    name: str
    layers: Sequence[Block]
    keys: bool = False


def sequences(count: int) -> list[Sequence48]:
    rates = [0.2 * at / count for at in range(count)]
    return [
        Sequence48("equal but for a field that is not read", [Block(at) for at in range(count)]),
        Sequence48("five local, one global", [Block(at, tag="local" if (at + 1) % 6 else "global") for at in range(count)]),
        Sequence48("three of another width first", [Block(at, hidden=DIM if at < 3 else 4 * DIM) for at in range(count)]),
        Sequence48("drop-path rates, inference", [Block(at, rate=rate) for at, rate in enumerate(rates)]),
        Sequence48("drop-path rates, training", [Block(at, rate=rate) for at, rate in enumerate(rates)], keys=True),
        Sequence48("all of different widths", [Block(at, hidden=DIM + 8 * at) for at in range(count)]),
    ]  # fmt: skip


def gradient(layers: Any, keys: Any) -> Callable[[Any, Any], Any]:
    def apply(model: Any, x: Any) -> Any:
        if isinstance(model, BlockSeq):
            return model.fold_via(Block.__call__, in_axes=0)(x, keys)
        for at, layer in enumerate(model):
            x = eqx.filter_checkpoint(layer)(x, None if keys is None else keys[at])
        return x

    _, static = eqx.partition(layers, eqx.is_inexact_array)
    return jax.value_and_grad(lambda arrays, x: (apply(eqx.combine(arrays, static), x) ** 2).sum(), argnums=(0, 1))


@dataclass(frozen=True)
class Cost:
    trace: float
    lower: float
    compile: float
    lines: int
    temporaries: int


def cost(layers: Any, keys: Any, rounds: int) -> Cost:
    """The median of several traces, and one compilation."""
    arrays, x = eqx.filter(layers, eqx.is_inexact_array), jnp.ones((ROWS, DIM))
    traces = []
    for _ in range(rounds):
        start = time.perf_counter()
        traced = jax.jit(partial(gradient(layers, keys))).trace(arrays, x)
        traces.append(time.perf_counter() - start)
        jax.clear_caches()
    start = time.perf_counter()
    lowered = traced.lower()
    middle = time.perf_counter()
    compiled = lowered.compile()
    end = time.perf_counter()
    lines = lowered.as_text().count("\n")
    temporaries = int(compiled.memory_analysis().temp_size_in_bytes)
    return Cost(statistics.median(traces), middle - start, end - middle, lines, temporaries)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.unequal", description=__doc__)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(
        f"{given.layers} layers, {jax.devices()[0].platform}, jax {jax.__version__}; each cell: loop -> BlockSeq (ratio)\n"
    )
    print("| layers | found | trace s | lower + compile s | StableHLO lines | temporaries MB |")
    print("|---|---|---|---|---|---|")
    for one in sequences(given.layers):
        keys = jax.random.split(jax.random.key(1), given.layers) if one.keys else None
        blocks = BlockSeq.of(one.layers)
        found = blocks.describe_via(Block.__call__, in_axes=0)(jnp.ones((ROWS, DIM)), keys)
        loop, ours = cost(list(one.layers), keys, given.rounds), cost(blocks, keys, given.rounds)
        pairs = [
            (loop.trace, ours.trace, ".2f"),
            (loop.lower + loop.compile, ours.lower + ours.compile, ".2f"),
            (loop.lines, ours.lines, ","),
            (loop.temporaries / 1e6, ours.temporaries / 1e6, ".1f"),
        ]
        cells = [f"{a:{form}} -> {b:{form}} ({b / a:.2f})" for a, b, form in pairs]
        print(f"| {one.name} | {found} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
