"""`python -m tests.benchmarks.targets [--layers 4,12,48]`: one block in all targets, against the loop and against ours.

The GPT of `fixtures/`, of `fixtures/nnx/` and of `fixtures/linen/`, at the same sizes, as a loop and rewritten to each
target with the policy full: of the gradient, without dropout, lines of StableHLO, temporaries, seconds to compile, and
milliseconds of a step, the median of steps that take turns. Each framework's scan is held against its own loop, and all
against `scanify`. Targets whose library is not installed are left out.
"""

import argparse
import gc
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from tests import fixture_helpers
from tests.fixture_helpers import Fixture, write
from tests.targets.models import MODELS, models
from tests.targets.prove import rewritten

SIZES = {"vocab_size": 256, "block_size": 64, "n_head": 4, "n_embd": 64}
EQUINOX, NNX, LINEN = "Equinox", "Flax NNX", "Flax Linen"
Step = Callable[..., Any]


@dataclass(frozen=True)
class Way:
    """One way to write the model: its framework, and the target that it was rewritten to, "" for the loop."""

    framework: str
    target: str
    needs: str = ""

    @property
    def name(self) -> str:
        return f"{self.framework}: {self.target or 'loop'}"


WAYS = (
    Way(EQUINOX, ""),
    Way(EQUINOX, "scanify"),
    Way(EQUINOX, "lax"),
    Way(EQUINOX, "haliax", "haliax"),
    Way(NNX, "", "flax"),
    Way(NNX, "nnx", "flax"),
    Way(LINEN, "", "flax"),
    Way(LINEN, "linen", "flax"),
)


@dataclass
class Figures:
    """What one way costs with one number of layers: lines, bytes, seconds, milliseconds."""

    lines: int
    temporaries: int
    compiling: float
    step: float = 0.0


def model_of(framework: str) -> Fixture:
    """The GPT of a framework."""
    given = {EQUINOX: MODELS, NNX: models("nnx"), LINEN: models("linen")}[framework]
    return next(each for each in given if each.name == "gpt")


def loaded(way: Way, folder: Path) -> Any:
    """The module of the model as it is, or as its target has it."""
    model = model_of(way.framework)
    before = write(model.before, folder / "before")
    if way.target:
        outcome = rewritten(model, way.target, "full", None, before)
        before = write({model.target: next(iter(outcome.texts.values()))}, folder / "after")
    itself = before / "itself.py"
    itself.write_text("def itself(module):\n    return module\n")
    return fixture_helpers.thunk(before, model.target, itself, "itself")()


def step_of(way: Way, module: Any, count: int) -> tuple[Step, tuple[Any, ...]]:
    """The gradient of a sum of what the model gives, as a function of arrays, and those."""
    config = module.GPTConfig(n_layer=count, dropout=0.0, **SIZES)
    tokens = jnp.arange(SIZES["block_size"]) * 7 % SIZES["vocab_size"]
    if way.framework == EQUINOX:
        arrays, static = eqx.partition(module.GPT(config, key=jax.random.key(0)), eqx.is_inexact_array)

        def of_equinox(arrays: Any, tokens: jax.Array) -> Any:
            return jnp.sum(eqx.combine(arrays, static)(tokens, key=None) ** 2)

        return jax.grad(of_equinox), (arrays, tokens)
    if way.framework == NNX:
        from flax import nnx

        graph, params, rest = nnx.split(module.GPT(config, rngs=nnx.Rngs(0)), nnx.Param, ...)

        def of_nnx(params: Any, rest: Any, tokens: jax.Array) -> Any:
            return jnp.sum(nnx.merge(graph, params, rest)(tokens) ** 2)

        return jax.grad(of_nnx), (params, rest, tokens)
    model = module.GPT(config)
    variables = jax.jit(model.init)(jax.random.key(0), tokens)

    def of_linen(variables: Any, tokens: jax.Array) -> Any:
        return jnp.sum(model.apply(variables, tokens) ** 2)

    return jax.grad(of_linen), (variables, tokens)


def measured(ways: list[Way], count: int, rounds: int) -> dict[Way, Figures]:
    """What each way costs with so many layers."""
    found: dict[Way, Figures] = {}
    runs: dict[Way, Callable[[], Any]] = {}
    for way in ways:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of what haliax uses of jax
            step, args = step_of(way, loaded(way, Path(folder)), count)
            lowered = jax.jit(step).lower(*args)
        start = time.perf_counter()
        compiled = lowered.compile()
        seconds = time.perf_counter() - start
        lines = len(lowered.as_text().splitlines())
        found[way] = Figures(lines, compiled.memory_analysis().temp_size_in_bytes, seconds)
        runs[way] = lambda compiled=compiled, args=args: jax.block_until_ready(compiled(*args))
        print(f"{count} layers, {way.name}: compiled in {seconds:.1f} s", file=sys.stderr, flush=True)
    times: dict[Way, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in runs.items():
            gc.collect()
            start = time.perf_counter()
            run()
            times[way].append((time.perf_counter() - start) * 1e3)
    for way, each in times.items():
        found[way].step = statistics.median(each[1:])
    return found


def table(found: dict[Way, Figures], count: int) -> Iterator[str]:
    """The figures of one number of layers, with their ratios to the framework's loop and to ours."""
    yield f"| {count} layers | StableHLO lines | temporaries, MiB | compile, s | step, ms | step / its loop | step / ours |"
    yield "|---|---|---|---|---|---|---|"
    ours = next(figures for way, figures in found.items() if way.target == "scanify")
    for way, each in found.items():
        loop = next(figures for other, figures in found.items() if other == Way(way.framework, "", other.needs))
        yield (
            f"| {way.name} | {each.lines:,} | {each.temporaries / 2**20:.2f} | {each.compiling:.1f} | {each.step:.2f} | "
            f"{each.step / loop.step:.2f} | {each.step / ours.step:.2f} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.targets", description=__doc__)
    parser.add_argument("--layers", default="4,12,48")
    parser.add_argument("--rounds", type=int, default=15, help="steps that a median is taken of, all ways in turn")
    given = parser.parse_args()
    ways = [way for way in WAYS if not way.needs or find_spec(way.needs) is not None]
    for needs in {way.needs for way in WAYS if way not in ways}:
        print(f"{needs} is not installed, and what needs it is left out", file=sys.stderr)
    for count in map(int, given.layers.split(",")):
        print("\n".join(table(measured(ways, count, given.rounds), count)), "", sep="\n", flush=True)
        jax.clear_caches()
    names = [name for name in ("jax", "equinox", "marin-haliax", "flax") if find_spec(name.removeprefix("marin-"))]
    device = jax.devices()[0]
    made = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"{device.device_kind} ({device.platform}), Python {platform.python_version()}, {made}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
