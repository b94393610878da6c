"""Carries that a body may leave in another shape or dtype, and questions that only look at what a tracer knows."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan, Refusal

BLOCK = "        return x + self.linear(x)\n"


def plan_of(body: str = "x = layer(x)", block: str = BLOCK, before: str = "") -> Plan:
    text = model(f"for layer in self.layers:\n    {body}", before=before).replace(BLOCK, block)
    found = only(text)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    "block",
    [
        "        return jnp.tanh(x[..., None] * self.linear(x)) if x.ndim == 1 else x\n",
        "        if x.ndim == 1:\n            x = jnp.expand_dims(x, -1)\n        return self.linear(x)\n",
        "        if len(x.shape) > 2:\n            x = x.reshape(-1, 4)\n        return self.linear(x)\n",
    ],
)
def test_a_branch_on_the_shape_of_the_carry_that_makes_axes(block):
    assert any("keeps its shape" in each for each in plan_of(block=block).obligations)


@pytest.mark.parametrize(
    "block",
    [
        "        if x.ndim != 1:\n            raise ValueError(x.shape)\n        return x + self.linear(x)\n",
        "        if x.ndim == 1:\n            x = x * 2\n        return x + self.linear(x)\n",
        "        if self.linear.weight.ndim == 3:\n            x = x[None]\n        return x + self.linear(x)\n",
    ],
)
def test_a_question_about_shapes_that_changes_none(block):
    assert plan_of(block=block).safe


@pytest.mark.parametrize(
    "body",
    [
        "x = layer(x)\n    x = jnp.concatenate([x[1:], x[:1]])",
        "x = layer(x)\n    x = x[mask:]",
    ],
)
def test_a_carry_that_the_body_leaves_in_another_shape(body):
    assert any("has the same shape" in each for each in plan_of(body).obligations)


@pytest.mark.parametrize(
    "body", ["x = jax.lax.top_k(layer(x), 8)[0]", "x = x.at[0].set(1) + layer(x)", "x = jnp.sum(layer(x)) + x"]
)
def test_a_carry_that_keeps_its_shape(body):
    assert plan_of(body).safe


@pytest.mark.parametrize(
    "before",
    [
        "x = jnp.arange(8)",
        "x = jnp.arange(len(self.layers))",
        "x = jnp.zeros(8, dtype=jnp.int32)",
        "x = jnp.asarray(x, jnp.bfloat16) * 2",
        "x = jnp.argmax(x, 0)",
    ],
)
def test_a_start_of_a_narrow_dtype_is_for_a_run(before):
    assert any("dtype" in each for each in plan_of(before=before).obligations)


@pytest.mark.parametrize(
    "before",
    ["x = jnp.zeros(8)", "x = jnp.arange(8) * 0.5", "x = jnp.zeros(8, jnp.float32)", "x = jnp.arange(0.0, x, 0.1)"],
)
def test_a_start_of_floats_is_not(before):
    assert plan_of(before=before).safe


@pytest.mark.parametrize(
    "block",
    [
        "        if jnp.shape(x) != ():\n            x = x * 2\n        return self.linear(x)\n",
        "        if jnp.issubdtype(x.dtype, jnp.floating):\n            x = x * 2\n        return self.linear(x)\n",
        "        if np.prod(x.shape) > 4:\n            x = x * 2\n        return self.linear(x)\n",
        "        if jax.config.read('jax_enable_x64'):\n            x = x * 2\n        return self.linear(x)\n",
    ],
)
def test_what_a_tracer_knows_may_be_asked_for(block):
    assert plan_of(block=block).safe


def test_a_value_may_not():
    block = "        if jnp.sum(x) > 4:\n            x = x * 2\n        return self.linear(x)\n"
    found = only(model().replace(BLOCK, block))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN208"


@pytest.mark.parametrize(
    "before", ["x = jnp.zeros((1,))", "x = jr.normal(mask, (1, 8))", "x = jnp.asarray([[1.0, 2.0]])"]
)
def test_one_row_may_become_several(before):
    assert any("has a single row" in each for each in plan_of(before=before).obligations)


@pytest.mark.parametrize(
    "before", ["x = jnp.zeros((2,))", "x = jnp.zeros(())", "x = jnp.zeros((1, 8)) + x", "x = x[:1]"]
)
def test_several_rows_stay_as_many(before):
    assert not any("row" in each for each in plan_of(before=before).obligations)
