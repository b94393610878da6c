"""What the target `linen` writes does what the loop does, given the same parameters: outputs, gradients, collections."""

import math
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.emit.targets.linen_models import APPLIED, body, compact, setup
from tests.emit.targets.models import rewritten

nn: Any = pytest.importorskip("flax.linen", reason="flax is not installed")

X = jnp.linspace(-1, 1, 8).reshape(2, 4)
TEXTS = {
    "setup": (setup(), "layers_{}", "layers"),
    "compact": (compact(), "layer_{}", "layer"),
    "unnamed": (compact(body(f"x = Block(self.dim){APPLIED}")), "Block_{}", "layers"),
    "list": (
        compact(
            "        layers = [Block(self.dim, name=str(i)) for i in range(self.n)]\n"
            + body(f"x = layer{APPLIED}", head="for layer in layers:")
        ),
        "{}",
        "layers",
    ),
    "number": (compact(body(f'x = Block(self.dim, name=f"layer_{{i}}"){APPLIED} * (1 + i)')), "layer_{}", "layer"),
}


def model(text: str) -> Any:
    module = ModuleType("linen_model")
    sys.modules["linen_model"] = module
    exec(compile(text, "linen_model.py", "exec"), module.__dict__)
    return module.Model()


@cache
def scanned(text: str, remat: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        after, outcome = rewritten(text, Path(folder), "linen", remat=remat)
    assert outcome.applied
    return after


def stacked(tree: Any, loop: str, scan: str, lead: tuple[int, ...] = (3,)) -> Any:
    """The variables of the loop as those of the scan, with so many layers along its first axes."""
    count = math.prod(lead)
    named = [loop.format(number) for number in range(count)]
    return {
        collection: {
            **{name: value for name, value in part.items() if name not in named},
            scan: jax.tree.map(
                lambda *leaves: jnp.stack(leaves).reshape(*lead, *leaves[0].shape), *(part[name] for name in named)
            ),
        }
        for collection, part in tree.items()
    }


@pytest.mark.parametrize("remat", ["none", "full", "dots"])
@pytest.mark.parametrize("name", TEXTS)
def test_outputs_gradients_and_collections_are_those_of_the_loop(name: str, remat: str) -> None:
    _are_those_of_the_loop(name, remat, 3, (3,))


@pytest.mark.parametrize(("count", "lead"), [(6, (3, 2)), (3, (3, 1)), (1, (1, 1))])
@pytest.mark.parametrize("name", ["setup", "unnamed"])
def test_nested_scans_are_the_loop(name: str, count: int, lead: tuple[int, ...]) -> None:
    _are_those_of_the_loop(name, "nested", count, lead)


def _are_those_of_the_loop(name: str, remat: str, count: int, lead: tuple[int, ...]) -> None:
    text, loop, scan = TEXTS[name]
    text = text.replace("n: int = 3", f"n: int = {count}")
    before, after = model(text), model(scanned(text, remat))
    variables = before.init(jax.random.key(0), X, 1.0)
    variables.pop("intermediates", None)
    ours = stacked(variables, loop, scan, lead)
    shapes = jax.eval_shape(lambda: after.init(jax.random.key(0), X, 1.0))
    shapes.pop("intermediates", None)
    assert jax.tree.map(jnp.shape, ours) == jax.tree.map(lambda leaf: leaf.shape, shapes)

    def run(made: Any, given: Any) -> Any:
        def loss(params: Any) -> Any:
            out, state = made.apply(
                {**given, "params": params}, X, 0.5, mutable=["batch_stats", "cache", "intermediates"]
            )
            return jnp.sum(jnp.sin(out)), (out, state)

        return jax.grad(loss, has_aux=True)(given["params"])

    expected, (out, state) = run(before, variables)
    gradients, (found, later) = run(after, ours)
    wanted = out, stacked(state, loop, scan, lead), stacked({"params": expected}, loop, scan, lead)["params"]
    assert jax.tree.structure((found, later, gradients)) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves((found, later, gradients)), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_each_layer_draws_its_own_numbers_and_has_its_own_statistics() -> None:
    text, _, scan = TEXTS["setup"]
    made = model(scanned(text, "full"))
    variables = made.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, X, 1.0, True)
    kernel = variables["params"][scan]["mix"]["kernel"]
    assert len({row.tobytes() for row in np.asarray(kernel)}) == 3
    given = {**variables, "params": jax.tree.map(jnp.ones_like, variables["params"])}
    _, state = made.apply(
        given, X, 1.0, True, rngs={"dropout": jax.random.key(2)}, mutable=["batch_stats", "cache", "intermediates"]
    )
    (hidden,) = state["intermediates"][scan]["hidden"]
    assert len({(row == 0).tobytes() for row in np.asarray(hidden)}) == 3
    assert state["cache"][scan]["calls"].shape == (3,)
