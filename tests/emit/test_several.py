"""Elements that are tuples or lists of layers, and loops over such a list inside of a loop over several."""

import jax.numpy as jnp
import pytest

from scanify.analysis.plan import Holds, Plan, Refusal
from scanify.analysis.stack import InitStack
from tests.against_loop import model, rewritten, same

X = jnp.linspace(-0.5, 1.0, 4)
KEYS = "jr.split(key, 5)"
PAIRS = [
    f"self.layers = [(Block(4, key=k), eqx.nn.LayerNorm(4)) for k in {KEYS}]",
    f"self.layers = tuple([Block(4, key=k), eqx.nn.LayerNorm(4)] for k in {KEYS})",
    f"self.layers = []\nfor k in {KEYS}:\n    one = Block(4, key=k)\n    norm = eqx.nn.LayerNorm(4)\n    self.layers.append((one, norm))",
    f"self.layers = [(Block(4, key=k), lambda y: jnp.sin(y)) for k in {KEYS}]",
    f"self.layers = [(Block(4, key=k), eqx.nn.Lambda(jnp.sin) if i % 2 else jnp.cos) for i, k in enumerate({KEYS})]",
    f"self.layers = [(Block(4, key=k), jax.nn.relu, None, 0.5 * i) for i, k in enumerate({KEYS})]",
]
LISTS = [
    f"self.layers = [[Block(4, key=k) for k in jr.split(one, 3)] for one in {KEYS}]",
    f"self.layers = []\nfor one in {KEYS}:\n    level = []\n    for k in jr.split(one, 3):\n        level.append(Block(4, key=k))\n    self.layers.append(level)",
]
NESTED = "for level in self.layers:\n    for layer in level:\n        x = layer(x)\n    x = x * 2\nreturn x"


CALLS = [
    "for one, two, *_ in self.layers:\n    x = x + two(one(x))\nreturn x",
    "outs = []\nfor i, (one, two, *_) in enumerate(self.layers):\n    x = two(one(x)) + i\n    outs.append(x)\nreturn outs",
    "for (one, *rest), scale in zip(self.layers, [1, 2, 3, 4, 5]):\n    x = rest[0](one(x)) * scale\nreturn x",
    "for pair in self.layers:\n    x = pair[1](pair[0](x))\nreturn x",
]


@pytest.mark.parametrize(("init", "call"), [*zip(PAIRS, CALLS * 2, strict=False), *((PAIRS[5], one) for one in CALLS)])
def test_tuples_of_layers(init, call):
    assert "BlockSeq.of(self.layers)" in same(model(call, init), X)


@pytest.mark.parametrize("init", LISTS)
def test_the_loop_over_equal_lists_is_rewritten_and_the_one_in_it_stays(init):
    new = same(model(NESTED, init), X)
    assert "for layer in level:" in new
    _, loops = rewritten(model(NESTED, init))
    assert [type(one) for one in loops] == [Plan, Refusal]


@pytest.mark.parametrize(
    "init",
    [
        (
            "self.layers = []\nfor w, v in zip((4, 6, 5), (6, 5, 4)):\n    level = [Block(w, v, key=key)]\n"
            "    for k in jr.split(key, 3):\n        level.append(Block(v, key=k))\n    self.layers.append(level)"
        ),
        "self.layers = [[Block(w, v, key=key), *[Block(v, key=k) for k in jr.split(key, 3)]] for w, v in ((4, 6), (6, 4))]",
    ],
)
def test_a_loop_over_unlike_lists_is_rewritten_if_a_run_shows_them(init):
    call = NESTED.replace("    x = x * 2\n", "")
    new = same(model(call, init), X)
    assert "BlockSeq.of(self.layers)" in new


@pytest.mark.parametrize(
    "init",
    [
        (
            "self.layers = []\nfor w, v in zip((4, 6), (6, 8)):\n"
            "    self.layers.append((eqx.nn.Linear(w, v, key=key), [Block(v, key=k) for k in jr.split(key, 3)]))"
        ),
        (
            "self.layers = []\nfor _ in range(2):\n    level = (eqx.nn.Linear(4, 4, key=key), [])\n"
            "    for k in jr.split(key, 3):\n        level[1].append(Block(4, key=k))\n    self.layers.append(level)"
        ),
    ],
)
def test_levels_that_collect_skips_are_for_a_run(init):
    call = (
        "skips = []\nfor down, blocks in self.layers:\n    skips.append(x)\n    x = down(x)\n"
        "    for block in blocks:\n        x = block(x)\nreturn x, skips.pop()"
    )
    text = model(call, init)
    assert "x, skips = " in same(text, X)
    _, (outer, inner) = rewritten(text)
    assert isinstance(outer, Plan) and not outer.safe and outer.holds is Holds.BLOCK_SEQ
    assert isinstance(inner, Refusal) and inner.undecided is not None


def test_functions_beside_the_layers_are_applied_as_they_are_if_a_run_shows_them():
    call = "for one, two in self.layers:\n    x = two(one(x))\nreturn x"
    pairs = (
        "def pair(key):\n    block = Block(4, key=key)\n"
        "    block = eqx.tree_at(lambda b: b.weight, block, block.weight * 2)\n    return block, lambda y: y * 2\n\n\n"
        "class Model"
    )
    text = model(call, f"self.layers = [pair(k) for k in {KEYS}]").replace("class Model", pairs)
    same(text, X)
    _, (plan,) = rewritten(text)
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack)
    assert (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, False)


def test_pairs_of_arrays_and_of_numbers_are_no_layers():
    for init in ("self.layers = [(x, x) for x in jr.normal(key, (5, 4))]", "self.layers = [(1.0, 2.0)] * 5"):
        _, loops = rewritten(model("for one, two in self.layers:\n    x = x * one + two\nreturn x", init), count=0)
        assert loops == ()
