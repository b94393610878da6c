"""What a user can see of a version that runs alone, without scanify: the oracle."""

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.soundness import evaluate

Z = np.arange(3, dtype=np.float32) - 1


def observe(folder: Path, name: str) -> list[Any]:
    """Numbers and names: of calls, their derivatives, what is written, and what the constructor makes of keys."""
    sys.path.insert(0, str(folder))
    module, cases = importlib.import_module(name), importlib.import_module("cases")
    model, args = cases.case(module)
    others = [module.Model(jax.random.key(seed)) for seed in (1, 2)]
    arrays, rest = eqx.partition(model, eqx.is_array)
    names: list[Any] = []

    def call(arrays: Any, x: Any) -> list[Any]:
        with jax.ensure_compile_time_eval():  # the constructor may read its numbers
            _, (_, *given) = cases.case(module)  # fresh objects to write to
        returned = eqx.combine(arrays, rest)(x, *given)
        names[:] = []
        return [jnp.asarray(each, jnp.float32) for each in _numbers([returned, *given], names)]

    def seen(arrays: Any, x: Any) -> list[Any]:
        numbers = call(arrays, x)
        total = lambda arrays, x: sum(jnp.sum(each) for each in call(arrays, x))  # noqa: E731
        both = jax.value_and_grad(total, (0, 1))(arrays, x)
        alone = [jax.value_and_grad(total, at)(arrays, x) for at in (0, 1)]
        found = [both[0], both[1][1], alone[0][0], *alone[1], *_of(both[1][0]), *_of(alone[0][1])]
        return [*numbers, *found, *call(arrays, -2 * x)]

    closed = jax.make_jaxpr(seen)(arrays, args[0])
    values = evaluate.of(closed, [*jax.tree.leaves(arrays), args[0]])
    made = [np.asarray(leaf) for each in (model, *others) for leaf in _of(each)]
    kinds = [type(leaf).__name__ for layer in list(model.layers)[:1] for leaf in jax.tree.leaves(layer)]
    return [[np.asarray(each, np.float64).tolist() for each in (*values, *made)], [*map(str, names), *kinds]]


def _of(model: Any) -> list[Any]:
    """The arrays of each layer, stacked or not."""
    return [leaf for layer in list(model.layers) for leaf in jax.tree.leaves(layer) if eqx.is_array(leaf)]


def _numbers(value: Any, names: list[Any]) -> list[Any]:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return []
    if isinstance(value, jax.Array | np.ndarray):
        names.append((value.shape, str(value.dtype)))
        return [value]
    if isinstance(value, list | tuple):
        names.append(type(value).__name__)
        return [each for part in value for each in _numbers(part, names)]
    if isinstance(value, set):
        names.append(sorted(value))
        return []
    if isinstance(value, dict):
        names.append(sorted(value))
        return [each for key in sorted(value) for each in _numbers(value[key], names)]
    names.append(type(value).__name__)
    if callable(value):
        return _numbers(value(jnp.asarray(Z)), names)
    if isinstance(value, types.SimpleNamespace) or hasattr(value, "__dataclass_fields__"):
        return _numbers(vars(value), names)
    names.append(value)
    return []
