"""Functions that are made inside of others see what the names around them stand for when they are called."""

from textwrap import indent

import pytest
from helpers import only

from scanify.analysis.plan import Plan, Refusal

CODE = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

SEEN = []


def remember(x):
    SEEN.append(1)
    return x


def apply(function, x):
    return function(x)


class Block(eqx.Module):
    weight: jax.Array

    def __init__(self, key):
        self.weight = jr.normal(key, (8, 8))

    def __call__(self, x):
        function = jnp.sin

        def call(value):
            return function(value)

{block}


class Model(eqx.Module):
    layers: list

    def __init__(self, depth, *, key):
        self.layers = [Block(k) for k in jr.split(key, depth)]

    def __call__(self, x):
        function = {before}

        def call(value):
            return function(value)

        for layer in self.layers:
            x = layer({argument})
        function = {after}
        return call(x)
"""
REBOUND = {
    "between two calls": "first = call(self.weight)\nfunction = remember\nreturn (first + call(self.weight)) @ x",
    "between two calls of what it is given to": "first = apply(call, self.weight)\nfunction = remember\n"
    "return (first + apply(call, self.weight)) @ x",
    "in a branch": "y = x\nif x.ndim > 0:\n    function = remember\n    y = call(x)\nreturn self.weight @ y",
    "in a loop": "y = x\nfor _ in range(2):\n    y = call(y)\n    function = remember\nreturn self.weight @ y",
    "in a `try`": "y = x\ntry:\n    function = remember\n    y = call(x)\nexcept ValueError:\n    pass\nreturn self.weight @ y",
}


def model(block: str = "return call(self.weight @ x)", **parts: str) -> str:
    lines = "\n".join(f"        {line}" for line in block.splitlines())
    return CODE.format(block=lines, **({"before": "jnp.sin", "after": "jnp.cos", "argument": "x"} | parts))


def test_one_that_sees_only_functions_without_side_effects_has_none():
    assert isinstance(only(model()), Plan)


@pytest.mark.parametrize("where", REBOUND)
def test_a_name_that_is_bound_anew_is_another_function(where):
    found = only(model(REBOUND[where]))
    assert isinstance(found, Refusal) or not found.safe


def test_a_function_whose_names_are_bound_several_times_is_not_understood():
    for found in (
        only(model(before="remember", argument="call(x)")),
        only(model(after="remember", argument="call(x)")),
    ):
        assert isinstance(found, Plan) and not found.safe


BEHIND = {
    "in a loop around": "for t in range(3):\n    for layer in self.layers:\n        x = function(layer(x))\n    {}\nreturn x",
    "in a `while` around": "while x.ndim:\n    for layer in self.layers:\n        x = function(layer(x))\n    {}\nreturn x",
    "of a function": "def run(x):\n    for layer in self.layers:\n        x = function(layer(x))\n    return x\n\n"
    "{}\nreturn run(x)",
}


@pytest.mark.parametrize("where", BEHIND)
def test_what_is_bound_behind_a_loop_that_runs_again_is_read_in_it(where):
    """The next iteration of a loop around, or a call of the function around, reads what is bound behind the loop."""
    code = CODE[: CODE.index("        function = {before}")].format(block="        return self.weight @ x")
    found = only(code + indent(f"function = jnp.sin\n{BEHIND[where].format('function = remember')}", " " * 8))
    assert not (isinstance(found, Plan) and found.safe), found


BEFORE = {
    "after the function that calls it": "function = jnp.sin\ndef call(value):\n    return function(value)\nfunction = remember",
    "by a function in the function": "function = jnp.sin\ndef change():\n    nonlocal function\n    function = remember\n"
    "change()\ncall = function",
    "in a branch": "call = jnp.sin\nif x.ndim > 1:\n    call = remember",
    "in a `try`": "try:\n    call = remember\nexcept ValueError:\n    call = jnp.sin",
    "by `:=`": "print(call := remember)",
    "in a list under another name": "calls = [jnp.sin]\nothers = calls\nothers[0] = remember\ncall = calls[0]",
    "by unpacking": "call, *_ = remember, jnp.sin",
}


@pytest.mark.parametrize("where", BEFORE)
def test_what_is_bound_before_the_loop_is_called_in_it(where):
    code = CODE[: CODE.index("        function = {before}")].format(block="        return self.weight @ x")
    loop = "for layer in self.layers:\n    x = layer(call(x))\nreturn x"
    found = only(code + indent(f"{BEFORE[where]}\n{loop}", " " * 8))
    assert not (isinstance(found, Plan) and found.safe), found
    found = only(code + indent(f"call = jnp.sin\n{loop}", " " * 8))
    assert isinstance(found, Plan) and found.safe


STORES = {
    "by a method": "self.call = jnp.sin\n        self.setup()\n\n    def setup(self):\n        self.call = remember",
    "in a branch": "self.call = jnp.sin\n        if key is None:\n            self.call = remember",
    "by its name": "self.call = jnp.sin\n        object.__setattr__(self, 'call', remember)",
    "by a loop": "for self.call in (jnp.sin, remember):\n            pass",
    "through another name": "call = jnp.sin\n        call = remember\n        self.call = call",
    "as an element": "calls = {'sin': jnp.sin}\n        calls['other'] = remember\n        self.call = calls['other']",
    "by adding to a tuple": "self.calls = (jnp.sin,)\n        self.calls += (remember,)\n        self.call = self.calls[1]",
}


@pytest.mark.parametrize("where", STORES)
def test_what_a_constructor_stores_is_called(where):
    code = CODE.format(block="        return self.call(self.weight @ x)", before="1", after="1", argument="x")
    code = code.replace("        return call(x)", "        return x").replace(
        "    weight: jax.Array\n", "    weight: jax.Array\n    call: object\n"
    )
    stored = "        self.weight = jr.normal(key, (8, 8))\n        {}\n\n    def __call__"
    for store, safe in ((STORES[where], False), ("self.call = jnp.sin", True)):
        found = only(
            code.replace("        self.weight = jr.normal(key, (8, 8))\n\n    def __call__", stored.format(store))
        )
        assert (isinstance(found, Plan) and found.safe) is safe, found


def test_a_lambda_that_is_called_before_the_loop_is_read_again_in_it():
    code = CODE[: CODE.index("        function = {before}")].format(block="        return self.weight @ x")
    code = code.replace("def apply(", "act = lambda x: remember(x)\n\n\ndef apply(")
    loop = "x = x * act(1.0)\nfor layer in self.layers:\n    x = layer(x) * {}\nreturn x"
    found = only(code + indent(loop.format("act(1.0)"), " " * 8))
    assert isinstance(found, Refusal) and found.rule == "SCN207"
    assert only(code + indent(loop.format("2.0"), " " * 8)).safe
