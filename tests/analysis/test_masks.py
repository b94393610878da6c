"""What is as long as values of arrays say needs those values: a program with it runs by itself, and in no scan."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan, Refusal

LOOP = "for layer in self.layers:\n    x = layer(x)\n    x = {}"


@pytest.mark.parametrize(
    "picked",
    [
        "x[x > 0]",
        "x[(x > 0) & (x < 1)]",
        "x[~(x > 0)]",
        "x[jnp.isfinite(x)]",
        "x[jnp.logical_and(x > 0, x < 1), 0]",
        "x[jnp.nonzero(x > 0)]",
        "x[jnp.where(x > 0)[0]]",
        "jnp.unique(x)",
        "jnp.compress(x > 0, x)",
        "x[(lambda values: values > jnp.mean(values))(x)]",
    ],
)
def test_elements_that_a_comparison_picks_need_its_value(picked: str) -> None:
    found = only(model(LOOP.format(picked)))
    assert isinstance(found, Refusal) or not found.safe


@pytest.mark.parametrize(
    "picked",
    [
        "x * (x > 0)",
        "x[(x > 0) * 1]",
        "x[(x > 0).astype(int)]",
        "x.at[x > 0].set(0)",
        "jnp.where(x > 0, x, 0)",
        "x[jnp.nonzero(x, size=4)[0]]",
        "x[jnp.argsort(x)]",
        "x[np.ones(4) > 0]",
    ],
)
def test_other_indices_do_not(picked: str) -> None:
    assert isinstance(only(model(LOOP.format(picked))), Plan)
