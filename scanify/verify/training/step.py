"""One step of training as a function of the parameters and of arbitrary gradients.

The gradients of both versions are compared separately. Here they are inputs, so that only the optimiser is compared:
its state is initialised, and the parameters are updated once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.errors import ScanifyError
from scanify.verify.programs.trace import Version, differentiated
from scanify.verify.values.checks import Function, noise


class Optimizer(NamedTuple):
    """An optimiser with the two functions of optax."""

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


def sgd(rate: float) -> Optimizer:
    """Return gradient descent without a state, which does not need optax."""
    return Optimizer(lambda params: (), lambda grads, state, params: (jax.tree.map(lambda g: -rate * g, grads), state))


def optimizer_of(given: Any, module: Any) -> Any:
    """Return the optimiser of a case: an object with `init` and `update` as in optax, or from a function of the module.

    Raises ScanifyError if it is neither.
    """
    found = given(module) if callable(given) and not _is_optimizer(given) else given
    if found is not None and not _is_optimizer(found):
        raise ScanifyError(
            "expected the case's `optimizer` to be one of optax, as in `gpt.optimizer = optax.adamw(1e-3)`, or a "
            f"function of the module that returns one; got {type(found).__name__}"
        )
    return found


def _is_optimizer(value: Any) -> bool:
    return callable(getattr(value, "init", None)) and callable(getattr(value, "update", None))


def trained(avals: Sequence[Any], inputs: Sequence[int]) -> tuple[int, ...]:
    """Return the leaves that a step updates: differentiable ones that are not arguments of the call."""
    return tuple(i for i in differentiated(avals) if i not in set(inputs))


def step(program: Version, leaves: Sequence[Any], grads: Sequence[Any], at: Sequence[int]) -> list[Any]:
    """Return the leaves `at` after one step with these gradients."""
    moved = dict(zip(at, grads, strict=True))
    model = program.tree(program.own(leaves))[0]
    given = program.tree(program.own([moved.get(i, leaf) for i, leaf in enumerate(leaves)]))[0]
    params, rest = eqx.partition(model, eqx.is_inexact_array)
    optimizer = program.optimizer
    new, _ = updated(optimizer, eqx.filter(given, eqx.is_inexact_array), optimizer.init(params), params)
    made = program.split(program.arrays(eqx.combine(new, rest), program.own(leaves)))
    return [made[i] for i in at]


def updated(optimizer: Any, grads: Any, state: Any, params: Any) -> tuple[Any, Any]:
    """Return the parameters and the optimiser's state after one update; each parameter keeps its dtype."""
    updates, state = optimizer.update(grads, state, params)
    return jax.tree.map(lambda p, u: jnp.asarray(p + u).astype(p.dtype), params, updates), state


def stepped(at: Sequence[int], program: Version, leaves: Sequence[Any], rng: np.random.Generator) -> Function:
    """Compute the leaves `at` after one step with random gradients."""
    grads = [noise(rng, leaves[i]) for i in at]
    function: Callable[..., Any] = jax.jit(lambda xs, gs: step(program, xs, gs, at))
    return lambda given: [jax.block_until_ready(value) for value in function(list(given), grads)]
