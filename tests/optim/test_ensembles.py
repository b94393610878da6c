"""`per_layer` for ensembles: the layers of a stack have the members in front, as those of a list have."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, BlockSeq, members_first
from scanify.optim import per_layer
from tests.checkpoints.models import Model, listed, nested, with_layers
from tests.optim.test_per_layer import OPTIMISERS, arrays, as_list, assert_close, trained

optax = pytest.importorskip("optax", reason="per_layer wraps optimisers of optax")


def ensemble(make: Any, members: int = 4) -> Model:
    return members_first(eqx.filter_vmap(make)(jnp.arange(members)))


def four(kind: Any) -> Any:
    def make(seed: Any) -> Model:
        model = listed(4)
        return with_layers(
            jax.tree.map(lambda x: x * (seed + 1).astype(x.dtype) if eqx.is_array(x) else x, model), kind
        )

    return make


@pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of], ids=["ArrayStacked", "BlockSeq"])
@pytest.mark.parametrize("name", ["lamb", "adafactor", "adamw with a mask by rank"])
def test_a_stack_is_trained_as_a_list_is(name: str, kind: Any) -> None:
    listed, _ = trained(OPTIMISERS[name](), ensemble(four(list)))
    stacked, _ = trained(per_layer(OPTIMISERS[name]()), ensemble(four(kind)))
    assert_close(as_list(stacked), as_list(listed))


@pytest.mark.parametrize("out_axes", [0, 1])
def test_an_ensemble_that_does_not_say_where_its_members_are_is_refused(out_axes: int) -> None:
    """It has as many members as layers, so that the norms of layers would be those of members with `out_axes=1`."""
    make = eqx.filter_vmap(lambda seed: four(ArrayStacked.of)(seed).layers, out_axes=eqx.if_array(out_axes))
    with pytest.raises(ValueError, match=r"axis of layers is not known.*members_first"):
        per_layer(optax.lamb(1e-2)).init(arrays(make(jnp.arange(4))))


def test_the_moments_lie_as_the_parameters_do() -> None:
    params = arrays(ensemble(four(ArrayStacked.of)))
    state = per_layer(optax.adam(1e-2)).init(params)
    assert eqx.tree_equal(state, optax.adam(1e-2).init(params), typematch=True)


def test_members_that_are_trained_by_themselves() -> None:
    params = arrays(ensemble(four(ArrayStacked.of)))
    optimizer = per_layer(optax.lamb(1e-2))

    def step(params: Any) -> Any:
        updates, _ = optimizer.update(jax.tree.map(jnp.sin, params), optimizer.init(params), params)
        return updates

    whole = eqx.filter_vmap(step)(params)
    for at in range(4):
        member = jax.tree.map(lambda x, at=at: x[at], params)
        mine = jax.tree.map(lambda x, at=at: x[at], whole)
        assert_close(jax.tree.leaves(mine), jax.tree.leaves(step(member)))


def test_stacks_of_stacks_in_an_ensemble() -> None:
    def make(kind: Any) -> Any:
        return lambda seed: jax.tree.map(
            lambda x: x * (seed + 1).astype(x.dtype) if eqx.is_array(x) else x, nested(kind)
        )

    listed, _ = trained(optax.lamb(1e-2), ensemble(make(list), 3))
    stacked, state = trained(per_layer(optax.lamb(1e-2)), ensemble(make(ArrayStacked.of), 3))
    assert jax.tree.structure(state[0].mu) == jax.tree.structure(stacked)
    assert [x.shape for x in jax.tree.leaves(state[0].mu)] == [x.shape for x in jax.tree.leaves(stacked)]
    for outer, other in zip(stacked.layers, listed.layers, strict=True):
        assert_close(jax.tree.leaves((list(outer.inner), outer.bias)), jax.tree.leaves((other.inner, other.bias)))
