"""`python -m tests.benchmarks.stack_costs`: what a list of layers costs and what stacks of them cost, in one run.

Milliseconds of this process's own time, the least of several turns in which the columns take turns, so that a busy
machine will do. Memory is the peak, in parameters, of a process that does nothing else and has done the same with
small ones before: the middle one of three.
"""

import argparse
import gc
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from scanify.nn import ArrayStacked, BlockSeq

WIDTH = 8
KINDS: dict[str, Callable[[list[Any]], Any]] = {"list": list, "ArrayStacked": ArrayStacked.of, "BlockSeq": BlockSeq.of}
MEMORY = """
import sys
from pathlib import Path
import equinox as eqx, jax, jax.random as jr
from scanify.nn import ArrayStacked, BlockSeq
from tests.benchmarks.stack_costs import Block

def memory(name): return 1024 * int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0])

way, count, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
keys = jr.split(jr.key(0), count)
# One after another: what several need at once while they are made is no matter of the stack.
def make(width): return [jax.block_until_ready(Block(width, key=key)) for key in keys]

def run(width):
    kept = make(width) if way.endswith("kept") else None
    ways = {
        "list": lambda: make(width),
        "ArrayStacked": lambda: ArrayStacked.of(make(width)),
        "BlockSeq": lambda: BlockSeq.of(make(width)),
        "ArrayStacked, list kept": lambda: ArrayStacked.of(kept),
        "BlockSeq, list kept": lambda: BlockSeq.of(kept),
        "ArrayStacked.init": lambda: ArrayStacked.init(count, Block, in_axes=((None,), {"key": 0}))(width, key=keys),
    }
    built = jax.block_until_ready(eqx.filter(ways[way](), eqx.is_array))
    return sum(leaf.nbytes for leaf in jax.tree.leaves(built))

# Once with small arrays: the compiler keeps memory of its own, which is no matter of the layers.
run(8)
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
begin = memory("VmRSS")
size = run(width)
print((memory("VmHWM") - begin) / size)
"""


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    mlp: eqx.nn.MLP
    drop: eqx.nn.Dropout

    def __init__(self, width: int, rate: float = 0.1, *, key: Any) -> None:
        self.norm = eqx.nn.LayerNorm(width)
        self.mlp = eqx.nn.MLP(width, width, 2 * width, 1, key=key)
        self.drop = eqx.nn.Dropout(rate)

    def __call__(self, x: Any, key: Any) -> Any:
        return x + self.drop(jax.vmap(self.mlp)(jax.vmap(self.norm)(x)), key=key)


def apply(layers: Any, x: Any, keys: Any) -> Any:
    if isinstance(layers, list):
        for layer, key in zip(layers, keys, strict=True):
            x = layer(x, key)
        return x
    return layers.fold_via(Block.__call__, in_axes=0)(x, keys)


def walk(layers: Any, x: Any, keys: Any) -> Any:
    return apply(list(layers), x, keys)


def least(
    calls: Mapping[str, Callable[[], Any]], times: int = 3, before: Callable[[], Any] = gc.collect
) -> dict[str, float]:
    """Of each call the least time, where all are called in turn."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(times):
        for name, call in calls.items():
            before()
            start = time.process_time()
            jax.block_until_ready(jax.tree.leaves(eqx.filter(call(), eqx.is_array)))
            found[name].append((time.process_time() - start) * 1e3)
    return {name: min(each) for name, each in found.items()}


def traced(run: Callable[..., Any], stacks: Mapping[str, Any], *args: Any, times: int = 3) -> dict[str, float]:
    def tracing(layers: Any) -> Callable[[], None]:
        arrays, static = eqx.partition(layers, eqx.is_array)
        return lambda: (
            jax.make_jaxpr(lambda arrays, *args: run(eqx.combine(arrays, static), *args))(arrays, *args) and None
        )

    return least({name: tracing(layers) for name, layers in stacks.items()}, times)


def compiled(run: Callable[..., Any], stacks: Mapping[str, Any], *args: Any, times: int = 3) -> dict[str, float]:
    """Of the gradient, from where it has been traced to where it can be run."""

    def compiling(layers: Any) -> Callable[[], None]:
        arrays, static = eqx.partition(layers, eqx.is_inexact_array)
        step = jax.jit(lambda arrays, *args: gradient(run)(eqx.combine(arrays, static), *args)).trace(arrays, *args)
        return lambda: step.lower().compile() and None

    return least({name: compiling(layers) for name, layers in stacks.items()}, times, jax.clear_caches)


def first_call(run: Callable[..., Any], stacks: Mapping[str, Any], *args: Any) -> dict[str, float]:
    """A call outside of `jax.jit` when nothing has been compiled."""

    return least({name: lambda one=one: run(one, *args) for name, one in stacks.items()}, 1, jax.clear_caches)


def gradient(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda layers, x, keys: eqx.filter_grad(lambda layers: jnp.sum(run(layers, x, keys) ** 2))(layers)


def rows(count: int) -> list[tuple[str, dict[str, float]]]:
    """What is measured for this many layers."""
    keys, x = jr.split(jr.key(1), count), jnp.ones((4, WIDTH))
    alike = [Block(WIDTH, key=key) for key in keys]
    unlike = [Block(WIDTH, 0.1 * (at + 1) / count, key=key) for at, key in enumerate(keys)]
    stacks = {name: make(alike) for name, make in KINDS.items()}
    others = {name: make(unlike) for name, make in KINDS.items() if name != "ArrayStacked"}
    found = [("construction", least({name: lambda m=make: m(alike) for name, make in KINDS.items()}))]
    found.append(("trace, forward", traced(apply, stacks, x, keys)))
    found.append(("trace, gradient", traced(gradient(apply), stacks, x, keys)))
    found.append(("trace, other drop rates", traced(apply, others, x, keys, times=15 if count <= 48 else 7)))
    found.append(("trace, walked, gradient", traced(gradient(walk), stacks, x, keys)))
    if count <= 12:
        found.append(("compilation, walked, gradient", compiled(walk, stacks, x, keys, times=9 if count <= 4 else 5)))
        found.append(("first eager call", first_call(apply, stacks, x, keys)))
    found.append(("eager call", least({name: lambda one=one: apply(one, x, keys) for name, one in stacks.items()})))
    found.append(("walking", least({name: lambda one=one: list(one) for name, one in stacks.items()})))
    every = {name: lambda one=one: [one[at] for at in range(count)] for name, one in stacks.items()}
    found.append(("indexing, all layers", least(every)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.stack_costs", description=__doc__)
    parser.add_argument("--layers", default="1,4,12,48,200")
    parser.add_argument("--no-times", action="store_true", help="memory and imports alone")
    given = parser.parse_args()
    counts = list(map(int, given.layers.split(",")))
    if not given.no_times:
        print_times(counts)
    print(f"\n| peak memory, in parameters, with so many layers | {' | '.join(map(str, counts))} |")
    print("|---" * (1 + len(counts)) + "|")
    for way in (*KINDS, "ArrayStacked, list kept", "BlockSeq, list kept", "ArrayStacked.init"):
        peaks = [statistics.median(printed(MEMORY, way, str(n), str(width(n))) for _ in range(3)) for n in counts]
        cells = " | ".join(f"{peak:.2f}" for peak in peaks)
        print(f"| {way} | {cells} |", flush=True)
    print("\n| import, ms of processor time | |\n|---|---|")
    for names in ("jax", "jax, equinox", "jax, equinox, scanify.nn"):
        took = min(
            printed(f"import time; s = time.process_time(); import {names}; print(time.process_time() - s)")
            for _ in range(5)
        )
        print(f"| {names} | {took * 1e3:.0f} |", flush=True)


def print_times(counts: Sequence[int]) -> None:
    print("| layers | ms of processor time | list | ArrayStacked | BlockSeq |\n|---|---|---|---|---|")
    for count in counts:
        for name, row in rows(count):
            cells = " | ".join(f"{row[kind]:.1f}" if kind in row else "" for kind in KINDS)
            print(f"| {count} | {name} | {cells} |", flush=True)


def width(count: int) -> int:
    """Such that all layers together have some 768 MB; 64 MB is the most that one has."""
    return min(2048, 2 ** int(math.log2(2048 * math.sqrt(12.5 / count))))


def printed(program: str, *args: str) -> float:
    """The number that a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
