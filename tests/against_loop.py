"""A model's text, rewritten by the whole tool, against its own loops: outputs, their types, gradients and exceptions."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.analysis.plan import Plan, Refusal
from scanify.pipeline import Project, rewrite_sources

PATH = Path("/nowhere/model.py")
PRELUDE = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Block(eqx.Module):
    weight: jax.Array

    def __init__(self, before, after=None, *, key):
        self.weight = jr.normal(key, (before if after is None else after, before)) / before

    def __call__(self, x, h=None, *, twice=False):
        y = jnp.tanh(self.weight @ x)
        y = y if h is None else y + 0.5 * h
        return (y, y * 2) if twice else y


"""
INIT = "self.layers = [Block(4, key=k) for k in jr.split(key, 5)]"


def model(call: str, init: str = INIT, parameters: str = "x", fields: str = "layers: list") -> str:
    """A model with a list of layers, and a `__call__` of the given statements."""
    body = f"{dedent(fields)}\n\ndef __init__(self, key):\n{indent(dedent(init), '    ')}\n\n"
    body += f"def __call__(self, {parameters}):\n{indent(dedent(call), '    ')}\n"
    return f"{PRELUDE}class Model(eqx.Module):\n{indent(body, '    ')}"


def rewritten(text: str, count: int = 1) -> tuple[str, tuple[Plan | Refusal, ...]]:
    """The text with `count` loops rewritten, unsafe and undecided ones too, and what was decided about each loop."""
    project = Project.of_text(text.encode(), PATH, root=PATH.parent)
    outcome = rewrite_sources(project, stack=None, remat=None, accept=lambda plan: True, undecided=lambda place: True)
    assert len(outcome.applied) == count, outcome.analysis.loops
    return outcome.texts[PATH], outcome.analysis.loops


def same(text: str, *inputs: Any, count: int = 1) -> str:
    """Assert that the rewritten model does what the loop does, for each of the inputs, and give its text."""
    new, _ = rewritten(text, count)
    for one in inputs or (jnp.linspace(-0.5, 1.0, 4),):
        given = one if isinstance(one, tuple) else (one,)
        expected, got = _answer(text, given), _answer(new, given)
        assert type(got) is type(expected), (got, expected)
        if isinstance(expected, str):
            assert got == expected
            continue
        assert jax.tree.structure(got[0]) == jax.tree.structure(expected[0])
        assert len(got[1]) == len(expected[1])
        pairs = zip([*jax.tree.leaves(got[0]), *got[1]], [*jax.tree.leaves(expected[0]), *expected[1]], strict=True)
        for ours, theirs in pairs:
            if not eqx.is_array(theirs):
                assert (type(ours), ours) == (type(theirs), theirs)
                continue
            assert (jnp.shape(ours), jnp.result_type(ours)) == (jnp.shape(theirs), jnp.result_type(theirs))
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)
    return new


def _answer(text: str, given: tuple[Any, ...]) -> tuple[Any, list[Any]] | str:
    """The outputs and the gradients of the layers; or the name of the exception."""
    scope: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec", dont_inherit=True), scope)

    def loss(model: Callable[..., Any]) -> tuple[Any, Any]:
        out = model(*given)
        arrays = [leaf for leaf in jax.tree.leaves(out) if eqx.is_inexact_array(leaf)]
        return sum(jnp.sum(jnp.sin(leaf) * at) for at, leaf in enumerate(arrays, 1)), out

    try:
        made = scope["Model"](jax.random.key(0))
        gradient, out = eqx.filter_grad(loss, has_aux=True)(made)
    except Exception as error:  # which one is part of the answer
        return type(error).__name__
    return out, jax.tree.leaves(_apart(gradient))


def _apart(model: Any) -> list[Any]:
    """The fields of a model, its sequences of layers as lists of layers."""
    fields = [getattr(model, name) for name in sorted(vars(model))]
    return [list(one) if hasattr(one, "_take") else one for one in fields]
