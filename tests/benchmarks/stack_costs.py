"""`python -m tests.benchmarks.stack_costs`: what a list of layers costs and what stacks of them cost, in one run.

Milliseconds of this process's own time, the least of three, so that a busy machine will do. Memory is the peak of a
process that does nothing else, in parameters.
"""

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from scanify.nn import ArrayStacked, BlockSeq

WIDTH = 8
KINDS: dict[str, Callable[[list[Any]], Any]] = {"list": list, "ArrayStacked": ArrayStacked.of, "BlockSeq": BlockSeq.of}
MEMORY = """
import resource, sys
import equinox as eqx, jax, jax.random as jr
from scanify.nn import ArrayStacked, BlockSeq
from tests.benchmarks.stack_costs import Block

def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

keys = jr.split(jr.key(0), 12)
Block(8, key=keys[0])
begin = peak()
def make(): return [Block(2048, key=key) for key in keys]

kept = make() if sys.argv[1].endswith("kept") else None
ways = {
    "list": make,
    "ArrayStacked": lambda: ArrayStacked.of(make()),
    "BlockSeq": lambda: BlockSeq.of(make()),
    "ArrayStacked, list kept": lambda: ArrayStacked.of(kept),
    "BlockSeq, list kept": lambda: BlockSeq.of(kept),
    "ArrayStacked.init": lambda: ArrayStacked.init(12, Block, in_axes=((None,), {"key": 0}))(2048, key=keys),
}
built = jax.block_until_ready(eqx.filter(ways[sys.argv[1]](), eqx.is_array))
print((peak() - begin) / sum(leaf.nbytes for leaf in jax.tree.leaves(built)))
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


def least(call: Callable[[], Any], times: int = 3) -> float:
    found = []
    for _ in range(times):
        gc.collect()
        start = time.process_time()
        jax.block_until_ready(jax.tree.leaves(eqx.filter(call(), eqx.is_array)))
        found.append((time.process_time() - start) * 1e3)
    return min(found)


def traced(run: Callable[..., Any], layers: Any, *args: Any) -> float:
    arrays, static = eqx.partition(layers, eqx.is_array)

    def trace() -> None:
        jax.make_jaxpr(lambda arrays, *args: run(eqx.combine(arrays, static), *args))(arrays, *args)

    return least(trace)


def compiled(run: Callable[..., Any], layers: Any, *args: Any) -> float:
    """Of the gradient, from where it has been traced to where it can be run."""
    arrays, static = eqx.partition(layers, eqx.is_inexact_array)
    jax.clear_caches()
    step = jax.jit(lambda arrays, *args: gradient(run)(eqx.combine(arrays, static), *args)).trace(arrays, *args)
    return least(lambda: step.lower().compile() and None, 1)


def first_call(run: Callable[..., Any], *args: Any) -> float:
    """A call outside of `jax.jit` when nothing has been compiled."""
    jax.clear_caches()
    return least(lambda: run(*args), 1)


def gradient(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda layers, x, keys: eqx.filter_grad(lambda layers: jnp.sum(run(layers, x, keys) ** 2))(layers)


def rows(count: int) -> list[tuple[str, dict[str, float]]]:
    """What is measured for this many layers."""
    keys, x = jr.split(jr.key(1), count), jnp.ones((4, WIDTH))
    alike = [Block(WIDTH, key=key) for key in keys]
    unlike = [Block(WIDTH, 0.1 * (at + 1) / count, key=key) for at, key in enumerate(keys)]
    stacks = {name: make(alike) for name, make in KINDS.items()}
    others = {name: make(unlike) for name, make in KINDS.items() if name != "ArrayStacked"}
    found = [("construction", {name: least(lambda m=make: m(alike)) for name, make in KINDS.items()})]
    found.append(("trace, forward", {name: traced(apply, one, x, keys) for name, one in stacks.items()}))
    found.append(("trace, gradient", {name: traced(gradient(apply), one, x, keys) for name, one in stacks.items()}))
    found.append(("trace, other drop rates", {name: traced(apply, one, x, keys) for name, one in others.items()}))
    found.append(("trace, walked, gradient", {name: traced(gradient(walk), s, x, keys) for name, s in stacks.items()}))
    if count <= 12:
        walked = {name: compiled(walk, one, x, keys) for name, one in stacks.items()}
        found.append(("compilation, walked, gradient", walked))
        found.append(("first eager call", {name: first_call(apply, one, x, keys) for name, one in stacks.items()}))
    if count <= 48:
        found.append(("eager call", {name: least(lambda one=one: apply(one, x, keys)) for name, one in stacks.items()}))
    found.append(("walking", {name: least(lambda one=one: list(one)) for name, one in stacks.items()}))
    indexed = {name: least(lambda one=one: [one[at] for at in range(count)]) for name, one in stacks.items()}
    found.append(("indexing, all layers", indexed))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.stack_costs", description=__doc__)
    parser.add_argument("--layers", default="1,4,12,48,200")
    given = parser.parse_args()
    print(f"Printed by `python -m tests.benchmarks.stack_costs --layers {given.layers}`, jax {jax.__version__}.\n")
    print("| layers | ms of processor time | list | ArrayStacked | BlockSeq |\n|---|---|---|---|---|")
    for count in map(int, given.layers.split(",")):
        for name, row in rows(count):
            cells = " | ".join(f"{row[kind]:.1f}" if kind in row else "" for kind in KINDS)
            print(f"| {count} | {name} | {cells} |", flush=True)
    print("\n| peak memory, in parameters | |\n|---|---|")
    for way in (*KINDS, "ArrayStacked, list kept", "BlockSeq, list kept", "ArrayStacked.init"):
        done = subprocess.run([sys.executable, "-c", MEMORY, way], capture_output=True, text=True, check=True)
        print(f"| {way} | {float(done.stdout):.2f} |", flush=True)
    for name in ("equinox", "scanify.nn"):
        command = f"import time, equinox; s = time.process_time(); import {name}; print(time.process_time() - s)"
        done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
        print(f"\nimport of {name}, after equinox: {float(done.stdout) * 1e3:.0f} ms", end="")
    print()


if __name__ == "__main__":
    main()
