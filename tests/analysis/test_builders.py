"""Lists that a function gives: what it fills and yields before it gives them is how they are built."""

from textwrap import indent

import pytest
from helpers import PRELUDE, decide, model, only

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack

BUILDERS = {
    "a comprehension": "return [Block(8, key=k) for k in jr.split(key, depth)]",
    "a list that is filled": "made = []\nfor k in jr.split(key, depth):\n    made.append(Block(8, key=k))\nreturn made",
    "a list that is extended": "made = []\nmade.extend(Block(8, key=k) for k in jr.split(key, depth))\nreturn made",
    "a list that is added to": "made = []\nfor k in jr.split(key, depth):\n    made += [Block(8, key=k)]\nreturn made",
    "a tuple of it": "made = []\nfor k in jr.split(key, depth):\n    made.append(Block(8, key=k))\nreturn tuple(made)",
}
GENERATORS = {
    "yields": "for k in jr.split(key, depth):\n    yield Block(8, key=k)",
    "yields from": "yield from (Block(8, key=k) for k in jr.split(key, depth))",
    "yields from a list": "made = [Block(8, key=k) for k in jr.split(key, depth)]\nyield from made",
}


def built(body: str, init: str = "self.layers = make(depth, key)") -> str:
    return model(init=init).replace("class Model", f"def make(depth, key):\n{indent(body, '    ')}\n\n\nclass Model")


@pytest.mark.parametrize("name", BUILDERS)
def test_a_list_that_a_function_gives_is_stacked_where_it_is_assigned(name: str) -> None:
    plan = only(built(BUILDERS[name]))
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack), plan
    assert (plan.rule, plan.holds, plan.safe) == ("SCN101", Holds.ARRAY_STACKED, True)


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("copy", ["list(make(depth, key))", "tuple(make(depth, key))", "[*make(depth, key)]"])
def test_a_list_of_what_a_generator_gives_is_left_to_evidence(name: str, copy: str) -> None:
    found = only(built(GENERATORS[name], f"self.layers = {copy}"))
    assert isinstance(found, Refusal) and found.undecided is not None, found


def test_a_list_that_grows_after_it_was_given_stays_one() -> None:
    init = "made = make(depth, key)\nself.layers = made\nself.more = made"
    text = built(BUILDERS["a list that is filled"], init)
    text = text.replace("class Model", "def grow(model):\n    model.more.append(Other())\n\n\nclass Model")
    for plan in decide(text):
        assert isinstance(plan, Plan) and (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, False), plan


def test_a_local_list_is_walked_as_it_is_by_then() -> None:
    before = "layers = []\nfor k in keys:\n    layers.append(Block(8, key=k))"
    loop = "for layer in layers:\n    x = layer(x)"
    whole = only(model(loop, before=before))
    assert isinstance(whole, Plan) and (whole.holds, whole.kind) == (Holds.ARRAY_STACKED, Kind.FOLD)
    plan = only(model(loop, before=before, after="layers.append(mask)\nreturn x, layers"))
    assert isinstance(plan, Plan) and (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, False)


@pytest.mark.parametrize(
    "layers",
    [
        "[Block(8, key=key), jnp.tanh, Block(8, key=key), jax.nn.relu, Block(8, key=key)]",
        "[Block(8, key=key), helper, Block(8, key=key), lambda y: y * 2, Block(8, key=key)]",
        "[Block(8, key=key), functools.partial(jax.nn.gelu, approximate=True), *two]",
        "[Block(8, key=key), depth, Block(8, key=key), Block(8, key=key)]",
    ],
)
def test_functions_between_the_layers_are_said(layers: str) -> None:
    layers = layers.replace("*two", "Block(8, key=key), Block(8, key=key)")
    plan = only(model(init=f"self.layers = {layers}"))
    assert isinstance(plan, Plan), plan
    assert (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, False)
    assert plan.call is None or plan.call.owner is None


def test_a_function_between_the_layers_that_prints_is_seen() -> None:
    text = model(init="self.layers = [Block(8, key=key), shout, Block(8, key=key), Block(8, key=key)]")
    found = only(text.replace("class Model", "def shout(x):\n    print(x)\n    return x\n\n\nclass Model"))
    assert not isinstance(found, Plan)
    assert found.rule == "SCN207"


TWO_FIELDS = """
def towers(n, key):
    out = []
    for k in jr.split(key, n):
        out.append(Block(8, key=k))
    return out


class Towers(eqx.Module):
    first: list
    second: list
    alias: list

    def __init__(self, *, key):
        self.first = towers(4, key)
        self.second = towers(3, key)
        self.alias = self.first

    def __call__(self, x):
        for layer in self.first:
            x = layer(x)
        return x
"""


def test_a_list_that_two_fields_hold_stays_one():
    plan = only(PRELUDE.partition("class Model")[0] + TWO_FIELDS)
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack), plan
