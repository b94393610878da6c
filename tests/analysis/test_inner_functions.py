"""Functions made in a loop's body: part of it where they stay in their turn, and refused where they may leave it."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan, Refusal

MADE = "def f(y, by=0.5):\n        return layer(y) * by + x\n    "


@pytest.mark.parametrize(
    "body",
    [
        f"{MADE}x = f(x)",
        f"{MADE.replace('+ x', '+ y')}x = jax.vmap(f)(x)",
        f"{MADE}y, h = jax.lax.scan(lambda c, y: (f(c), y), x, keys)\n    x = x + y",
        f"@jax.checkpoint\n    {MADE}x = f(x)",
        f"{MADE}g = eqx.filter_checkpoint(f)\n    x = g(x)",
        "def f(y):\n        if y.ndim == 1:\n            return y\n        return layer(y)\n    x = f(x)",
    ],
)
def test_one_that_is_only_called_is_part_of_the_body(body):
    plan = only(model(f"for layer in self.layers:\n    {body}"))
    assert isinstance(plan, Plan) and plan.safe, plan
    assert plan.carry == ("x",)


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (f"{MADE}hooks.append(f)\n    x = f(x)", "SCN206"),
        ("def f(y):\n        layer.cache = y\n        return layer(y)\n    x = f(x)", "SCN207"),
        ("def f():\n        nonlocal x\n        x = layer(x)\n    f()\n    x = x * 2", "SCN207"),
    ],
)
def test_one_that_may_leave_its_turn_or_does_more_is_a_reason_to_refuse(body, rule):
    found = only(model(f"for layer in self.layers:\n    {body}", parameters="x, mask, keys, hooks"))
    assert isinstance(found, Refusal) and found.rule == rule, found


@pytest.mark.parametrize("use", ["x = keys(f, x)", "x = mask.register(f)(x)"])
def test_one_that_other_code_may_keep_is_not_understood(use):
    found = only(model(f"for layer in self.layers:\n    {MADE}{use}", parameters="x, mask, keys, hooks"))
    assert isinstance(found, Plan) and not found.safe


def test_one_that_may_keep_what_it_is_passed_is_not_understood():
    body = "def f(y):\n        hooks.append(y)\n        return layer(y)\n    x = f(x)"
    found = only(model(f"for layer in self.layers:\n    {body}", parameters="x, mask, keys, hooks"))
    assert isinstance(found, Plan) and not found.safe


def test_one_that_code_after_the_loop_calls_is_a_reason_to_refuse():
    found = only(model(f"for layer in self.layers:\n    {MADE}x = f(x)", after="return f(x)"))
    assert isinstance(found, Refusal) and found.rule == "SCN209"
