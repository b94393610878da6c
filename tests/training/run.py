"""One version, trained in a process of its own: what its losses were, and what they cost."""

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.training.text import CHARACTERS, batch, characters


@dataclass(frozen=True)
class Size:
    steps: int
    layers: int
    width: int
    heads: int
    length: int
    batch: int
    x64: bool


@dataclass(frozen=True)
class Run:
    """`start` are the seconds from before the constructor to the first loss, `step` is the median of the rest in seconds,
    `temporaries` the bytes that a compiled step needs beside its arguments and results, `times` since the start, `device`
    what jax calls the one it ran on."""

    losses: list[float]
    times: list[float]
    start: float
    step: float
    temporaries: int
    device: str


def run(name: str, size: Size) -> Run:
    """Train the version of that name in a process that has compiled nothing yet."""
    command = [sys.executable, "-m", "tests.training.run", name, json.dumps(asdict(size))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} was not trained: {done.stderr[-2000:]}")
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def train(name: str, size: Size) -> Run:
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    from tests.training.version import VERSIONS

    jax.config.update("jax_enable_x64", size.x64)
    version = next(each for each in VERSIONS if each.name == name)
    with tempfile.TemporaryDirectory() as folder:
        module = version.module(Path(folder))
    optimizer = version.transformation()
    config = module.GPTConfig(CHARACTERS, size.length, size.layers, size.heads, size.width, dropout=0.1)
    text = characters()

    begun = time.perf_counter()
    model = module.GPT(config, key=jax.random.key(0))
    if size.x64:
        model = jax.tree.map(lambda x: x.astype(jnp.float64) if eqx.is_inexact_array(x) else x, model)
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    state = optimizer.init(parameters)

    def loss(parameters: Any, tokens: Any, key: Any) -> Any:
        model = eqx.combine(parameters, static)
        keys = jax.random.split(key, tokens.shape[0])
        logits = jax.vmap(lambda one, key: model(one, key=key))(tokens[:, :-1], keys)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    @jax.jit
    def step(parameters: Any, state: Any, tokens: Any, key: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, tokens, key)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    losses, times = [], []
    compiled = None
    for number in range(size.steps):
        tokens, key = batch(text, number, size.batch, size.length), jax.random.key(number)
        if compiled is None:
            compiled = step.lower(parameters, state, tokens, key).compile()
        parameters, state, value = compiled(parameters, state, tokens, key)
        losses.append(float(value))
        times.append(time.perf_counter() - begun)
    assert compiled is not None
    each = [after - before for before, after in itertools.pairwise(times)]
    temporaries = compiled.memory_analysis().temp_size_in_bytes
    step_seconds = statistics.median(each) if each else 0.0
    return Run(losses, times, times[0], step_seconds, temporaries, jax.devices()[0].device_kind)


if __name__ == "__main__":
    print(json.dumps(asdict(train(sys.argv[1], Size(**json.loads(sys.argv[2]))))))
