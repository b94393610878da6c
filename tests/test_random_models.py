"""Models made at random, rewritten by the whole tool and run beside their own loops: the same, or no fix."""

import functools
from collections.abc import Iterator

import jax
import pytest

from tests.random_models.check import Checked, check, differs
from tests.random_models.model import random_model
from tests.random_models.run import run
from tests.random_models.tally import Tally, failure, text

COUNT, SAMPLE = 200, 20
SLICE = 20
STARTS = [pytest.param(start, marks=() if start < SAMPLE else pytest.mark.whole) for start in range(0, COUNT, SLICE)]


@pytest.fixture(autouse=True, scope="module")
def _caches() -> Iterator[None]:
    yield
    jax.clear_caches()


@functools.cache
def checked(seed: int) -> Checked:
    return check(seed)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.whole
def test_a_rewrite_keeps_what_the_loop_does_for_the_models_from_seed(start: int) -> None:
    tally = Tally()
    for seed in range(start, start + SLICE):
        tally.add(checked(seed))
    failures = [failure(one) for one in (*tally.wrong, *tally.crashes)]
    assert not failures, failures[0]
    assert tally.share >= 0.5, text(tally)  # of so few; the share of 5,000 is stated by the command


def test_every_model_is_python() -> None:
    texts = [random_model(seed).text for seed in range(1000)]
    for one in texts:
        compile(one, "random_model.py", "exec")
    assert len(set(texts)) > 990
    assert all(any(form in one for one in texts) for form in FORMS)


FORMS = """\
enumerate(|start=|, 1)|reversed(|self.layers[1:]|self.layers[:-1]|zip(|strict=True|self.norms|ks|self.scales|self.table
self.taps|if i % 2|fold_in(key, i)|keys[|[None] * |sub_key = |dict(|self.options|lambda|layer.step(|layer.attend(
StateIndex|BatchNorm|def encode(model|def encode(layers|class Stack|root = |if flag:|self.layers = layers|append(
rate=|act=|Gate|Wide|range(len(self.layers))|range(self.n)|(0, 2, 1)|slots[i]|chosen = reversed(|2 * i + 1]|outs.append|prev is None|eqx.filter_jit|checkpoint|isinstance(
self.layers.items()|.layers.values()|dict(zip(|sorted(self.layers)|name != 'b1'|log[|print(|global |layer is |next(|try:|break|locals()""".replace(
    "\n", "|"
).split("|")
LOOP = """\
import equinox as eqx
import jax
import jax.numpy as jnp

CALLS = []
COUNT = 0
DEPTH = 3


class Block(eqx.Module):
    weight: jax.Array

    def __call__(self, x):
        return x + jnp.sin(self.weight * x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, *, key):
        self.layers = [Block(jax.random.normal(k, 4)) for k in jax.random.split(key, DEPTH)]

    def __call__(self, x, s, mask, ks, key, state, log, flag=True):
        for layer in self.layers:
            x = layer(x)
        return x, s, state


def build(key):
    return Model(key=key), None
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("in self.layers:", "in self.layers[::-1]:", "array 0"),
        ("in self.layers:", "in self.layers[:2]:", "array 0"),
        ("x = layer(x)\n        return", "x = jax.lax.stop_gradient(layer(x))\n        return", "array"),
        ("x = layer(x)\n", "x = layer(x)\n            CALLS.append(1)\n", "leaves"),
        ("x = layer(x)\n", "x = layer(x)\n            print('layer')\n", "prints"),
        ("x = layer(x)\n", "x = layer(x, x)\n", "the loop raises None"),
        ("return x, s, state", "return x.astype(jnp.float32), s, state", "float64(4,) became float32(4,)"),
        ("return x, s, state", "return x, s * (1 + 1e-7), state", "array"),
    ],
)
@pytest.mark.parametrize("how", ["traced", "eager"])
def test_a_model_that_does_something_else_is_found_out(old: str, new: str, message: str, how: str) -> None:
    assert old in LOOP
    with jax.enable_x64(True):
        loop, other = (run(text, keyed=True, how=how) for text in (LOOP, LOOP.replace(old, new)))
    assert (differs(loop, loop), message in (differs(loop, other) or "")) == (None, True)


@pytest.mark.parametrize("how", ["eager", "jit"])
def test_what_a_trace_says_is_what_is_computed(how: str) -> None:
    with jax.enable_x64(True):
        assert differs(run(LOOP, keyed=True, how="traced"), run(LOOP, keyed=True, how=how)) is None
