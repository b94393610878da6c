"""A function that is made of a layer and called in its place: `fn = jax.checkpoint(layer) if self.remat else layer`."""

import pytest
from helpers import decide, model

from scanify.analysis.plan import Plan

MADE = [
    "{layer}",
    "jax.checkpoint({layer})",
    "eqx.filter_checkpoint({layer}) if mask else {layer}",
    "{layer} if mask else jax.checkpoint({layer})",
]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    ("head", "layer"),
    [
        ("for layer in self.layers:", "layer"),
        ("for i in range(len(self.layers)):", "self.layers[i]"),
        ("for i, _ in enumerate(self.layers):", "self.layers[i]"),
    ],
)
def test_the_loop_is_found(head: str, layer: str, made: str) -> None:
    loop = f"{head}\n    fn = {made.format(layer=layer)}\n    x = fn(x)"
    (found,) = decide(model(loop))
    assert isinstance(found, Plan), found


@pytest.mark.parametrize("made", MADE)
def test_one_whose_function_nobody_calls_is_none(made: str) -> None:
    assert not decide(model(f"for i in range(len(self.layers)):\n    fn = {made.format(layer='self.layers[i]')}"))
