"""What a rerolled program costs: `python -m tests.benchmarks.reroll --layers 24`, and `--find` for how long finding takes.

The gradient of the GPT of `fixtures/`, with dropout: as it is written, rerolled, rerolled with a remat policy, and as
`scanify rewrite` writes it (which remats too). Seconds are of the process's own CPU time, as the machine may be shared.
"""

import argparse
import runpy
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import scanify
from scanify.jaxpr.reading.calls import opened
from scanify.rolling.find.choose import chosen
from scanify.rolling.find.program import flat

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "gpt"


@dataclass(frozen=True)
class Cost:
    trace: float
    lower: float
    compile: float
    lines: int
    temporaries: int
    step: float
    value: Any
    gradients: list[Any]


def model_of(name: str, layers: int) -> tuple[Any, Any, Any]:
    module = SimpleNamespace(**runpy.run_path(str(FIXTURE / name)))
    cases = SimpleNamespace(**runpy.run_path(str(FIXTURE / "cases.py")))
    model = module.GPT(cases.config(module, n_layer=layers), key=jax.random.key(0))
    return model, jnp.arange(16) * 7 % 96, jax.random.key(1)


def loss(model: Any, tokens: Any, key: Any) -> Any:
    return (model(tokens, key=key) ** 2).mean()


def stacked(model: tuple[Any, Any, Any], remat: Any) -> tuple[Callable[..., Any], tuple[Any, Any, Any]]:
    """The rerolled loss as a function of parameters that are stacked outside, and those."""
    arrays, static = eqx.partition(model[0], eqx.is_inexact_array)
    parameters, unstack = scanify.reroll_parameters(arrays)

    def f(parameters: Any, tokens: Any, key: Any) -> Any:
        return loss(eqx.combine(unstack(parameters), static), tokens, key)

    return scanify.reroll(f, remat=remat), (parameters, *model[1:])


def cost(f: Callable[..., Any], model: Any, tokens: Any, key: Any) -> Cost:
    """What the gradient of a function costs, from its trace to a step."""
    jax.clear_caches()
    arrays, static = eqx.partition(model, eqx.is_inexact_array)
    gradient = jax.jit(lambda arrays: jax.value_and_grad(lambda a: f(eqx.combine(a, static), tokens, key))(arrays))
    marks = [time.process_time()]
    traced = gradient.trace(arrays)
    marks.append(time.process_time())
    lowered = traced.lower()
    marks.append(time.process_time())
    compiled = lowered.compile()
    marks.append(time.process_time())
    value, gradients = compiled(arrays)
    steps = []
    for _ in range(10):
        start = time.perf_counter()
        jax.block_until_ready(compiled(arrays))
        steps.append(time.perf_counter() - start)
    trace, lower, compile_ = np.diff(marks)
    memory = compiled.memory_analysis().temp_size_in_bytes
    lines = lowered.as_text().count("\n")
    return Cost(trace, lower, compile_, lines, memory, min(steps), value, jax.tree.leaves(gradients))


def compare(layers: int, remats: list[str]) -> None:
    model = model_of("before.py", layers)
    rewritten = model_of("after_array_stacked.py", layers)
    ways: list[tuple[str, Callable[..., Any], Any]] = [
        ("as it is written", loss, model),
        ("rerolled", scanify.reroll(loss), model),
        *((f'rerolled, remat="{remat}"', scanify.reroll(loss, remat=remat), model) for remat in remats),  # type: ignore[call-overload]
        *((f'rerolled, remat="{remat}", stacked parameters', *stacked(model, remat)) for remat in remats),
        ("rewritten (nested)", loss, rewritten),
    ]
    first: Cost | None = None
    print(
        "| program | trace s | lower s | compile s | StableHLO lines | temporaries MB | step ms | value | gradients |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, f, given in ways:
        found = cost(f, *given)
        first = found if first is None else first
        same = "same bits" if found.value == first.value else f"{float(abs(found.value / first.value - 1)):.0e}"
        pairs = zip(found.gradients, first.gradients, strict=False)
        alike = len(found.gradients) == len(first.gradients)
        worst = (
            max((float(jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(b))) for a, b in pairs), default=0) if alike else None
        )
        print(
            f"| {name} | {found.trace:.1f} | {found.lower:.1f} | {found.compile:.1f} | {found.lines:,} | "
            f"{found.temporaries / 1e6:.2f} | {found.step * 1e3:.1f} | {same} | "
            f"{'stacked' if worst is None else f'{worst:.0e}'} |",
            flush=True,
        )


def _layer(x: Any, w: Any, b: Any) -> Any:
    y = jnp.tanh(w @ x + b)
    for at in range(6):
        y = jnp.sin(y) * jax.nn.sigmoid(x) + jax.nn.softmax(y - x * (at + 0.5))
    return y


def _layers(ws: Any, bs: Any, x: Any) -> Any:
    for w, b in zip(ws, bs, strict=True):
        x = _layer(x, w, b)
    return x


def find(counts: list[int]) -> list[tuple[int, float]]:
    """Seconds to find the layers in a trace, for traces of more and more equations: both numbers of each."""
    found = []
    print("| layers | equations | find s | microseconds an equation |\n|---|---|---|---|")
    for count in counts:
        given = ([jnp.ones((4, 4))] * count, [jnp.ones(4)] * count, jnp.ones(4))
        closed = jax.make_jaxpr(_layers)(*given)
        seconds = []
        for _ in range(3):
            start = time.process_time()
            program = flat(opened(closed)[0])
            ((roll,), _) = chosen(program, 3)
            seconds.append(time.process_time() - start)
        assert roll.wired.count == count
        size = len(program.operations)
        print(f"| {count} | {size:,} | {min(seconds):.2f} | {min(seconds) / size * 1e6:.1f} |", flush=True)
        found.append((size, min(seconds)))
    return found


def plot(found: list[tuple[int, float]], file: str) -> None:
    """Seconds by equations, and the line on which they would be if each equation took what it takes at 20,000."""
    from matplotlib import pyplot

    sizes, seconds = zip(*found, strict=True)
    at = min(range(len(sizes)), key=lambda at: abs(sizes[at] - 20_000))
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.loglog(sizes, seconds, "o-", label="to find the layers")
    axes.loglog(sizes, [size * seconds[at] / sizes[at] for size in sizes], "--", color="gray", label="linear")
    axes.plot([20_000], [0.3], "v", color="tab:red", label="0.3 s for 20,000")
    axes.set(xlabel="equations", ylabel="seconds of CPU time")
    axes.grid(which="major", alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reroll", description=__doc__)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--remat", action="append", help="a policy (default: nested)")
    parser.add_argument("--find", action="store_true")
    parser.add_argument("--plot", metavar="FILE", help="with --find, draw it (needs matplotlib)")
    given = parser.parse_args()
    print(f"{jax.devices()[0].platform}, jax {jax.__version__}\n")
    if given.find:
        found = find([20, 50, 100, 215, 500, 1000, 2150])
        if given.plot:
            plot(found, given.plot)
    else:
        compare(given.layers, given.remat or ["nested"])


if __name__ == "__main__":
    main()
