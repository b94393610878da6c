"""Models that nobody here wrote, rerolled under transformations: `python -m tests.benchmarks.reroll_ways [NAME ...]`.

Those of `tests.benchmarks.reroll_models`, under `jit`, `vmap` over the last argument, and the gradient of `jit`. For each:
whether the prover shows the program to compute what the model's own does, and whether both, evaluated equation by
equation, give the same bits. (Compiled whole, XLA may round either in another way: that is in the other table.)
"""

import argparse
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.rolling import reroll
from scanify.verify.proof.attempt import proof_of
from tests.benchmarks.reroll_models import BUILDERS
from tests.soundness import evaluate

Function = Callable[..., list[Any]]


def ways(f: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, tuple[Callable[[Any], Function], list[Any]]]:
    """How to transform the model or its rerolled form, and the arrays to give to what comes out."""
    moved, fixed = eqx.partition(args[0], eqx.is_inexact_array)
    others, static = eqx.partition(args[1:], eqx.is_array)
    leaves, tree = jax.tree.flatten((moved, others))
    last = max(at for at, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact))
    count = len(jax.tree.leaves(moved))

    def flat(f: Callable[..., Any]) -> Function:
        def call(*leaves: Any) -> list[Any]:
            moved, others = jax.tree.unflatten(tree, leaves)
            results = f(eqx.combine(moved, fixed), *eqx.combine(others, static))
            return [each for each in jax.tree.leaves(results) if eqx.is_array(each)]

        return jax.jit(call)

    def mapped(f: Callable[..., Any]) -> Function:
        return jax.vmap(flat(f), [0 if at == last else None for at in range(len(leaves))])

    def gradient(f: Callable[..., Any]) -> Function:
        def total(moved: list[Any], others: list[Any]) -> Any:
            return sum((jnp.abs(each) ** 2).sum() for each in flat(f)(*moved, *others) if eqx.is_inexact_array(each))

        return lambda *leaves: jax.grad(total)(list(leaves[:count]), list(leaves[count:]))

    batch = [jnp.stack([leaf, leaf / 2]) if at == last else leaf for at, leaf in enumerate(leaves)]
    return {"jit": (flat, leaves), "vmap of jit": (mapped, batch), "gradient of jit": (gradient, leaves)}


def row(name: str) -> str:
    f, args = BUILDERS[name]()
    cells = []
    for transform, given in ways(f, args).values():
        ours, theirs = (jax.make_jaxpr(transform(each))(*given) for each in (reroll(f, min_layers=3), f))
        proved = "PROVED" if proof_of(theirs, ours).proved else "not proved"
        values = [evaluate.of(each, given) for each in (ours, theirs)]
        apart = _apart(*values)
        cells.append(f"{proved}, {'same bits' if apart == 0 else f'{apart:.0e}'}")
    return f"| {name} | {' | '.join(cells)} |"


def _apart(ours: list[Any], theirs: list[Any]) -> float:
    """How far arrays are apart, relative to the largest number in them: some gradients are zero but for rounding."""
    pairs = list(zip(ours, theirs, strict=True))
    if all(np.array_equal(one, other, equal_nan=True) for one, other in pairs):
        return 0.0
    largest = max(float(np.max(np.abs(other), initial=0.0)) for other in theirs) or 1.0
    return max(float(np.max(np.abs(one - other), initial=0.0)) for one, other in pairs) / largest


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reroll_ways", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names (default: all)")
    given = parser.parse_args()
    print(f"{jax.devices()[0].platform}, jax {jax.__version__}\n")
    print("| model | jit | vmap of jit | gradient of jit |\n|---|---|---|---|")
    for name in BUILDERS:
        if given.names and not any(part in name for part in given.names):
            continue
        try:
            print(row(name), flush=True)
        except ImportError as error:
            print(f"| {name} | not installed: {error.name} | | |", flush=True)
        except Exception as error:
            print(f"| {name} | {type(error).__name__}: {str(error)[:150]!r} | | |", flush=True)


if __name__ == "__main__":
    main()
