"""A program that a target wrote fails loudly where the loop would have done something else."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scanify.pipeline import Stack
from tests.emit.targets.models import PLAIN, WRITTEN_OUT, loaded, model, rewritten
from tests.texts import texts

every_target = pytest.mark.parametrize("target", WRITTEN_OUT)


def changed(network: Any, at: int, **fields: Any) -> Any:
    """The model with other values in one of its layers."""
    layer = network.blocks[at]
    for name, value in fields.items():
        object.__setattr__(layer, name, value)
    return network


@every_target
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rate": 0.25}, "expected layers that differ in the values of arrays alone"),
        ({"weight": jnp.ones((3, 3), jnp.bfloat16)}, "expected layers that differ in the values of arrays alone"),
        ({"weight": jnp.ones((1, 3))}, "expected layers that differ in the values of arrays alone"),
        ({"weight": 2.0}, "expected layers that differ in the values of arrays alone"),
    ],
)
@pytest.mark.whole
def test_layers_that_turn_out_to_differ_are_refused_by_the_program(
    fields: dict[str, Any], said: str, target: str, tmp_path: Path
) -> None:
    after, _ = rewritten(PLAIN, tmp_path, target, stack="call")
    with loaded(after) as module:
        network = module.Model(3, 4, key=jax.random.key(0))
        assert network(jnp.ones(3)).shape == (3,)
        with pytest.raises(ValueError, match=said):
            changed(network, 2, **fields)(jnp.ones(3))


@every_target
def test_arrays_without_a_dtype_of_their_own_stay_so(target: str, tmp_path: Path) -> None:
    text = PLAIN.replace("jnp.tanh(self.weight @ x) + shift", "self.weight * x")
    after, _ = rewritten(text, tmp_path, target, stack="call")
    with loaded(after) as module:
        network = module.Model(3, 2, key=jax.random.key(0))
        for at in range(2):
            changed(network, at, weight=jnp.asarray(0.5))
        assert network(jnp.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16


@every_target
@pytest.mark.parametrize("stack", ["init", "call"])
@pytest.mark.parametrize("given", [[None] * 2, [None] * 5, jax.random.split(jax.random.key(0), 5)], ids=["2", "5", "k"])
@pytest.mark.whole
def test_another_number_of_keys_than_layers_is_refused_by_the_program(
    stack: Stack, given: Any, target: str, tmp_path: Path
) -> None:
    text = model("""
def __call__(self, x, keys):
    for block, k in zip(self.blocks, keys):
        x = block(x, key=k)
    return x
""")
    after, _ = rewritten(text, tmp_path, target, stack=stack)
    with loaded(after) as module:
        network = module.Model(3, 4, key=jax.random.key(0))
        with pytest.raises(ValueError, match=r"zip\(\) argument|expected 4 values"):
            network(jnp.ones(3), given)


@every_target
def test_no_layers_are_refused_by_the_program(target: str, tmp_path: Path) -> None:
    after, _ = rewritten(PLAIN, tmp_path, target, stack="call")
    with loaded(after) as module, pytest.raises(ValueError, match="expected at least one layer"):
        module.Model(3, 0, key=jax.random.key(0))(jnp.ones(3))


ONE_BY_ONE = f"[{'Block(width, key=key), ' * 3}Block(width, key=key, rate=max(0.5, STEP * 3))]"
RATES = PLAIN.replace("[Block(width, key=k) for k in jax.random.split(key, depth)]", ONE_BY_ONE)
RATES = RATES.replace("class Block", "STEP = 0.1\n\n\nclass Block")


@every_target
def test_where_the_source_leaves_it_open_the_program_says_whether_one_body_fits(target: str, tmp_path: Path) -> None:
    after, outcome = rewritten(RATES, tmp_path, target)
    assert any(
        "though some layers are built apart from the others" in each
        for each in texts(outcome.applied[0].obligations)
    )
    with loaded(after) as module:
        assert module.Model(3, 4, key=jax.random.key(0))(jnp.ones(3)).shape == (3,)
        module.STEP = 0.2
        with pytest.raises(ValueError, match="expected layers that differ in the values of arrays alone"):
            module.Model(3, 4, key=jax.random.key(0))(jnp.ones(3))


def test_a_carry_that_begins_as_none_is_refused_by_the_program_where_it_becomes_an_array(tmp_path: Path) -> None:
    text = model("""
def __call__(self, x, last=None):
    for block in self.blocks:
        x, last = block(x), x
    return x, last
""")
    after, _ = rewritten(text, tmp_path, "lax")
    with loaded(after) as module:
        network = module.Model(3, 4, key=jax.random.key(0))
        assert network(jnp.ones(3), jnp.ones(3))[1].shape == (3,)
        with pytest.raises(TypeError, match="carry"):
            network(jnp.ones(3))
