"""`equinox.nn.MLP` with `scan=True` against itself without: a scan over layers that the maintainers wrote by hand."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.verify.compare.compare import compare_case
from scanify.verify.verdict import CaseResult, Status
from tests.packages.applied import applied


class Slope(eqx.Module):
    """An activation that is learnt: the MLP keeps one for each neuron of each hidden layer."""

    slope: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.where(x > 0, x, self.slope * x)


def mlp(depth: int, *, scan: bool = False, **options: Any) -> eqx.nn.MLP:
    return eqx.nn.MLP(3, 2, 5, depth, key=jax.random.key(0), scan=scan, **options)


def scanned(loop: eqx.nn.MLP, options: dict[str, Any]) -> eqx.nn.MLP:
    """The `scan=True` form of an MLP: its hidden layers stacked, as equinox keeps them."""
    first, *hidden, last = loop.layers
    stacked = jax.tree.map(lambda *arrays: jnp.stack(arrays), *hidden)
    return eqx.tree_at(
        lambda m: (m.layers, m.activation, m.final_activation),
        mlp(loop.depth, scan=True, **options),
        ((first, stacked, last), loop.activation, loop.final_activation),
    )


def compared(model: Any, rewritten: Callable[[Any, Any], Any]) -> CaseResult:
    return compare_case(
        "mlp",
        lambda: (applied(lambda m, x: m(x), model), (jnp.linspace(-1, 1, 3),)),
        lambda: (applied(rewritten, model), (jnp.linspace(-1, 1, 3),)),
        policies=(None,),
        requested=None,
        abstract=False,
        measure=False,
    )


OPTIONS: dict[str, dict[str, Any]] = {
    "relu": {},
    "gelu, no biases": {"activation": jax.nn.gelu, "use_bias": False, "use_final_bias": False},
    "a learnt activation": {"activation": Slope(jnp.array(0.1)), "final_activation": Slope(jnp.array(0.2))},
}


@pytest.mark.parametrize("depth", [2, 3, 9])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_scan_of_equinox_is_proved_to_be_its_loop(depth: int, options: dict[str, Any]) -> None:
    result = compared(mlp(depth, **options), lambda m, x: scanned(m, options)(x))
    (policy,) = result.policies
    assert (policy.outputs.status, policy.gradients.status) == (Status.PROVED, Status.PROVED), policy
    assert result.good


def test_what_is_compared_is_the_form_that_equinox_builds() -> None:
    ours, theirs = scanned(mlp(4), {}), mlp(4, scan=True)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    assert bool(eqx.tree_equal(ours, theirs))


def test_a_scan_in_the_other_order_is_not_proved() -> None:
    def backwards(m: Any, x: Any) -> Any:
        first, *hidden, last = m.layers
        return scanned(eqx.tree_at(lambda m: m.layers, m, (first, *hidden[::-1], last)), {})(x)

    (policy,) = compared(mlp(4), backwards).policies
    assert policy.outputs.status is Status.FAILED
    assert not policy.gradients.good


def test_a_learnt_activation_of_another_layer_is_not_proved() -> None:
    options = OPTIONS["a learnt activation"]
    slopes = jnp.arange(20.0).reshape(4, 5) / 20  # of four hidden layers with five neurons
    model = eqx.tree_at(lambda m: m.activation.slope, mlp(4, **options), slopes)

    def shifted(m: Any, x: Any) -> Any:
        return scanned(eqx.tree_at(lambda m: m.activation.slope, m, jnp.roll(m.activation.slope, 1, axis=0)), options)(
            x
        )

    (policy,) = compared(model, shifted).policies
    assert policy.outputs.status is Status.FAILED
