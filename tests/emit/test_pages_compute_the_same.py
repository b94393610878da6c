"""The rewritten examples of the rule pages compute what the examples before them compute, values and gradients."""

import inspect
import warnings
from importlib.util import find_spec
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.rules import RULES, Example, Fence

WIDTH, DEPTH = 4, 3


def pairs() -> list[Any]:
    """Each `before` that is one file, with its `after`."""
    found = []
    for rule in RULES:
        for example in rule.page.examples:
            roles = [fence.role for fence in example.fences]
            if (
                roles == ["before", "after"] and "class Model" in example.fences[0].code
            ):  # functions: `parameters/test_same`
                missing = "haliax" in example.fences[0].code and find_spec("haliax") is None
                marks = pytest.mark.skipif(missing, reason="haliax is not installed")
                found.append(pytest.param(example, id=f"{rule.id}: {example.title}", marks=marks))
    return found


def load(fence: Fence) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "model"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what haliax uses of jax
        exec(compile(fence.code, "model.py", "exec", dont_inherit=True), scope)
    return scope


def called(function: Any, given: dict[str, Any]) -> Any:
    """Call a function with those of the values that its parameters name."""
    names = [name for name in inspect.signature(function).parameters if name in given]
    return function(**{name: given[name] for name in names})


def answer(fence: Fence) -> tuple[Any, Any]:
    """The model's output, and the gradient of a weighted sum of it with respect to the parameters, in their order."""
    scope = load(fence)
    keys = jax.random.split(jax.random.key(0), DEPTH)
    given: dict[str, Any] = {"width": WIDTH, "depth": DEPTH, "key": jax.random.key(1)}
    if "layers" in inspect.signature(scope["Model"]).parameters:
        make = scope.get("Block", lambda width, key: eqx.nn.Linear(width, width, key=key))
        given["layers"] = [make(WIDTH, key=k) for k in keys]
    model = called(scope["Model"], given)
    inputs = {
        "x": jnp.linspace(-1.0, 2.0, WIDTH, dtype=jnp.bfloat16 if "bfloat16" in fence.code else None),
        "key": jax.random.key(2),
        "stop": 1,
        "skip": (0, 2),
        "keys": list(keys),  # jax cannot iterate over an array of keys that a trace closes over
        "scales": jnp.array([1.0, 2.0, 3.0]),
        "mask": jnp.arange(WIDTH) % 2 == 0,
    }

    @eqx.filter_jit
    def both(model: Any) -> tuple[Any, Any]:
        def loss(model: Any) -> tuple[Any, Any]:
            out = called(model, inputs)
            return sum(jnp.sum(jnp.cos(each) * jnp.arange(1, each.size + 1)) for each in jax.tree.leaves(out)), out

        gradient, out = eqx.filter_grad(loss, has_aux=True)(model)
        return out, gradient

    out, gradient = jax.tree.map(np.asarray, both(model))
    return out, np.sort(np.concatenate([each.ravel() for each in jax.tree.leaves(gradient)]))


@pytest.mark.parametrize("example", pairs())
def test_after_is_before(example: Example) -> None:
    with jax.enable_x64(True):  # so that nothing but rounding is within the tolerance
        before, after = (answer(fence) for fence in example.fences)
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert any(np.any(leaf != 0) for leaf in jax.tree.leaves(before))


def test_there_are_pages_to_run() -> None:
    assert len(pairs()) >= 10
