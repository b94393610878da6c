"""Running the text of a model: its outputs and gradients, or its exception, and what it left behind."""

import contextlib
import functools
import io
import operator
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.soundness.evaluate import of


@dataclass(frozen=True)
class Run:
    """What a model did. `trace` is the traceback of an `error`, for people."""

    error: str | None
    trace: str
    printed: str
    left: list[Any]
    arrays: list[np.ndarray]


def run(text: str, *, keyed: bool, how: str) -> Run:
    """Build the model of a text, call it, and differentiate it by its parameters and inputs.

    `how`: "traced" traces it as under jit and computes what the trace says, equation by equation, which is cheaper
    than compiling it; "eager" calls it with arrays that hold values; "jit" compiles it.
    """
    module = _executed(text)
    log = {"n": 0, "all": [1.0, 2.0, 3.0, 4.0], "rng": np.random.default_rng(0), "counter": iter(range(100))}
    printed = io.StringIO()
    error, trace = None, ""
    arrays: list[Any] = []
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = _given(module, keyed)
            function = functools.partial(_outputs_and_gradients, log=log)
            arrays = HOW[how](function, given)
        except Exception as raised:  # every one is an answer to compare
            error = type(raised).__name__
            trace = f"{traceback.format_exc()}\n{error}: {raised}"
    left = [module.CALLS, module.COUNT, log["n"], log["all"], len(log.get("seen", ())), next(log["counter"])]
    left += [log["rng"].normal(), getattr(getattr(module, "squash", None), "calls", 0)]
    return Run(error, trace, printed.getvalue(), left, [np.asarray(array) for array in arrays])


def _given(module: ModuleType, keyed: bool) -> Any:
    model, state = module.build(jax.random.key(7))
    depth = module.DEPTH
    ks = jnp.linspace(-0.3, 0.3, 4 * depth).reshape(depth, 4)
    mask, key = jnp.linspace(0.5, 1.0, 4), jax.random.key(3) if keyed else None
    return (model, jnp.linspace(0.1, 0.9, 4), jnp.full(4, 0.2), mask, ks), key, state


def _outputs_and_gradients(given: Any, log: dict[str, Any]) -> list[Any]:
    varied, key, state = given

    @functools.partial(eqx.filter_grad, has_aux=True)
    def gradient(varied: Any) -> Any:
        model, x, s, mask, ks = varied
        x, s, after = model(x, s, mask, ks, key, state, log)
        return jnp.sum(x**2) + jnp.sum(jnp.sin(s)), (x, s, _states(model, after))

    changes, outputs = gradient(varied)
    model = changes[0]
    held = [getattr(model, name, ()) for name in ("layers", "norms")]
    layers = [_listed(one) for one in held]
    others = [getattr(model, name, None) for name in ("table", "scale", "options", "out")]
    return jax.tree.leaves((outputs, changes[1:], layers, others))


def _listed(layers: Any) -> list[Any]:
    """The layers of a list, a dict or a sequence; of one layer that holds them all along the first axis of its arrays."""
    if isinstance(layers, dict):
        return list(layers.values())
    if not isinstance(layers, eqx.Module) or isinstance(layers, Sequence):
        return list(layers)
    arrays = eqx.filter(layers, eqx.is_array)
    return [jax.tree.map(operator.itemgetter(at), arrays) for at in range(len(jax.tree.leaves(arrays)[0]))]


def _states(model: Any, state: Any) -> list[Any]:
    if state is None:
        return []
    indices = jax.tree.leaves(list(model.layers), is_leaf=_is_index)
    return [state.get(index) for index in indices if _is_index(index)]


def _is_index(node: Any) -> bool:
    return isinstance(node, eqx.nn.StateIndex)


def _traced(function: Callable[[Any], list[Any]], given: Any) -> list[Any]:
    arrays, rest = eqx.partition(given, eqx.is_array)
    flat, tree = jax.tree.flatten(arrays)
    return of(jax.make_jaxpr(lambda *flat: function(eqx.combine(jax.tree.unflatten(tree, flat), rest)))(*flat), flat)


HOW: dict[str, Callable[[Callable[[Any], list[Any]], Any], list[Any]]] = {
    "traced": _traced,
    "eager": lambda function, given: function(given),
    "jit": lambda function, given: eqx.filter_jit(function)(given),
}


def _executed(text: str) -> ModuleType:
    module = ModuleType("random_model")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(text, "random_model.py", "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module
