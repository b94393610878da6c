"""`python -m tests.targets.lines [--layers 4,12,48]`: how long the program of a gradient is that jax gives to XLA.

The GPT of `fixtures/` as a loop and rewritten to each target, with the policy full: lines of StableHLO, which are the same
on every machine. `init` is stacked where the list is built, `call` in the call. Targets whose library is not installed are
left out.
"""

import argparse
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.pipeline import Stack
from tests import fixture_helpers
from tests.fixture_helpers import write
from tests.targets.models import MODELS
from tests.targets.prove import rewritten

GPT = next(each for each in MODELS if each.name == "gpt")
STACKS: tuple[Stack, ...] = ("init", "call")


def lines(folder: Path, count: int) -> int:
    """The lines of the gradient of the model below `folder`, with as many layers."""
    itself = folder / "itself.py"
    itself.write_text("def itself(module):\n    return module\n")
    loaded: Any = fixture_helpers.thunk(folder, GPT.target, itself, "itself")()
    config = loaded.GPTConfig(vocab_size=96, block_size=32, n_layer=count, n_head=2, n_embd=8)
    model = eqx.filter_eval_shape(lambda key: loaded.GPT(config, key=key), jax.random.key(0))

    @eqx.filter_grad
    def gradient(model: Any, tokens: jax.Array, key: jax.Array) -> jax.Array:
        total: jax.Array = jnp.sum(model(tokens, key=key))
        return total

    arrays, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    inputs = jax.ShapeDtypeStruct((16,), jnp.int32), jax.eval_shape(lambda: jax.random.key(1))
    lowered = jax.jit(lambda arrays, *inputs: eqx.filter(gradient(eqx.combine(arrays, static), *inputs), eqx.is_array))
    return len(lowered.lower(arrays, *inputs).as_text().splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.targets.lines", description=__doc__)
    parser.add_argument("--layers", default="4,12,48")
    counts = [int(each) for each in parser.parse_args().layers.split(",")]
    ways: list[tuple[str, Stack | None]] = [("loop", None)]
    ways += [(target, stack) for target in ("scanify", "lax", "haliax") for stack in STACKS]
    print(f"| | {' | '.join(f'{count} layers' for count in counts)} |\n|---|{'---|' * len(counts)}")
    for target, stack in ways:
        if target == "haliax" and find_spec("haliax") is None:
            print("haliax is not installed and left out", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of what haliax uses of jax
            folder = write(GPT.before, Path(name) / "before")
            if stack is not None:
                outcome = rewritten(GPT, target, "full", stack, folder)
                (text,) = outcome.texts.values()
                folder = write({GPT.target: text}, Path(name) / "after")
            found = [lines(folder, count) for count in counts]
        way = target if stack is None else f"{target}, {stack}"
        print(f"| {way} | {' | '.join(map(str, found))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
