"""Whether rerolled models are right under transformations: what the prover says, and whether the bits are the same."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.rolling import reroll
from scanify.verify.proof.attempt import proof_of
from tests.soundness import evaluate

Function = Callable[..., list[Any]]

COLUMNS = ("forward", "gradient", "jit", "gradient of jit", "vmap of jit")


def ways(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> list[tuple[Callable[[Callable[..., Any]], Function], list[Any]]]:
    """In the order of the columns: how to transform the model or its rerolled form, and the arrays to give to that."""
    moved, fixed = eqx.partition(args[0], eqx.is_inexact_array)
    others, static = eqx.partition(args[1:], eqx.is_array)
    leaves, tree = jax.tree.flatten((moved, others))
    last = max(at for at, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact))
    count = len(jax.tree.leaves(moved))

    def forward(f: Callable[..., Any]) -> Function:
        def call(*leaves: Any) -> list[Any]:
            moved, others = jax.tree.unflatten(tree, leaves)
            results = f(eqx.combine(moved, fixed), *eqx.combine(others, static))
            return [each for each in jax.tree.leaves(results) if eqx.is_array(each)]

        return call

    def jitted(f: Callable[..., Any]) -> Function:
        return jax.jit(forward(f))

    def mapped(f: Callable[..., Any]) -> Function:
        return jax.vmap(jitted(f), [0 if at == last else None for at in range(len(leaves))])

    def gradient(made: Callable[[Callable[..., Any]], Function]) -> Callable[[Callable[..., Any]], Function]:
        def of(f: Callable[..., Any]) -> Function:
            def total(moved: list[Any], others: list[Any]) -> Any:
                results = made(f)(*moved, *others)
                return sum((jnp.abs(each) ** 2).sum() for each in results if eqx.is_inexact_array(each))

            return lambda *leaves: jax.grad(total)(list(leaves[:count]), list(leaves[count:]))

        return of

    batch = [jnp.stack([leaf, leaf / 2]) if at == last else leaf for at, leaf in enumerate(leaves)]
    one = [(forward, leaves), (gradient(forward), leaves), (jitted, leaves), (gradient(jitted), leaves)]
    return [*one, (mapped, batch)]


def cells(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """What stands in the columns."""
    rerolled = reroll(f, min_layers=3)
    return [_cell(transform(rerolled), transform(f), given) for transform, given in ways(f, args)]


def _cell(ours: Function, theirs: Function, given: list[Any]) -> str:
    rolled, own = jax.make_jaxpr(ours)(*given), jax.make_jaxpr(theirs)(*given)
    proved = "PROVED" if proof_of(own, rolled).proved else "not proved"
    apart = _apart(evaluate.of(rolled, given), evaluate.of(own, given))
    return f"{proved}, {'same bits' if apart == 0 else f'{apart:.0e}'}"


def _apart(ours: list[Any], theirs: list[Any]) -> float:
    """How far arrays are apart, relative to the largest number in them: some gradients are zero but for rounding."""
    pairs = list(zip(ours, theirs, strict=True))
    if all(np.array_equal(one, other, equal_nan=True) for one, other in pairs):
        return 0.0
    largest = max(float(np.max(np.abs(other), initial=0.0)) for other in theirs) or 1.0
    return max(float(np.max(np.abs(one - other), initial=0.0)) for one, other in pairs) / largest
