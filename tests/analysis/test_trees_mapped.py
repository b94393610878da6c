"""Layers of `jax.tree.map(f, tree)`: what `f` makes of each array is not followed."""

import pytest
from helpers import decide, model

from scanify.analysis.plan import Plan

CAST = "lambda a: a.astype(jnp.bfloat16) if eqx.is_inexact_array(a) else a"
WALK = "for layer in layers:\n    x = layer(x)"


@pytest.mark.parametrize("function", ["jax.tree.map", "jax.tree_util.tree_map"])
@pytest.mark.parametrize(
    "before",
    [
        f"layers = {{}}({CAST}, self.layers)",
        f"layers = {{}}({CAST}, self).layers",
        f"_, layers = {{}}({CAST}, (self.norm, self.layers))",
        "layers = {}(lambda a, b: 0.9 * a + b, self.layers, self.layers)",
    ],
)
def test_layers_of_a_tree_that_is_cast_are_not_shown(function: str, before: str) -> None:
    assert not any(isinstance(each, Plan) for each in decide(model(WALK, before=before.format(function))))


@pytest.mark.parametrize("function", ["lambda a: a.shape", "lambda a: str(a)", "print"])
def test_those_of_a_tree_of_something_else_are_not_shown(function: str) -> None:
    assert not decide(model(WALK, before=f"layers = jax.tree.map({function}, self.layers)"))
