"""`functools.reduce` over layers and what is written in its place: text for text, and computing the same."""

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scanify.pipeline import Project, rewrite_sources
from tests.emit.test_maps import same

HEAD = """\
import functools
from functools import reduce

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Block(eqx.Module):
    weight: jax.Array

    def __init__(self, width, *, key):
        self.weight = jr.normal(key, (width, width))

    def __call__(self, x, scale=1.0, *, key=None):
        y = jnp.sin(self.weight @ x) * scale
        return y if key is None else y + jr.normal(key, y.shape)

    def both(self, x, s):
        return self.weight @ s, jnp.cos(x)


def apply(x, layer):
    return x + layer(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, width, depth, *, key):
        self.layers = [Block(width, key=k) for k in jr.split(key, depth)]

    def step(self, x, layer):
        return layer(x) * len(self.layers)

    def __call__(self, x, scales, keys):
"""

# name: (the body of the call, what becomes of it)
FORMS: dict[str, tuple[str, str]] = {
    "one call": (
        "return reduce(lambda h, layer: layer(h), self.layers, x)",
        "return self.layers.fold(x)",
    ),
    "an assignment": (
        "y = functools.reduce(lambda x, layer: layer(x), self.layers, x)\nreturn y, x",
        "y = self.layers.fold(x)\nreturn y, x",
    ),
    "a part of an expression": (
        "return jnp.tanh(reduce(lambda h, layer: layer(h), self.layers, x * 2)[::-1]) + x",
        "return jnp.tanh(self.layers.fold(x * 2)[::-1]) + x",
    ),
    "no space before it": (
        "return(reduce)(lambda h, layer: layer(h), self.layers, x)",
        "return self.layers.fold(x)",
    ),
    "shared values": (
        "return reduce(lambda h, layer: layer(h, 0.5), self.layers, x)",
        "return self.layers.fold_via(Block.__call__, in_axes=(None,))(x, 0.5)",
    ),
    "per layer": (
        "return reduce(lambda h, p: p[0](h, p[1], key=p[2]), zip(self.layers, scales, keys), x)",
        """
        return self.layers.fold_via(Block.__call__, in_axes=((0,), {"key": 0}))(x, scales, key=keys)
        """,
    ),
    "more than a call": (
        "return reduce(lambda x, layer: x + layer(x), self.layers, x)",
        "return self.layers.fold_via(lambda layer, x: x + layer(x))(x)",
    ),
    "more than a call per layer": (
        "return reduce(lambda h, p: p[1] * p[0](h), zip(self.layers, scales), x)",
        """
        return self.layers.fold_via(
            lambda layer, h, scale: scale * layer(h), in_axes=(0,)
        )(x, scales)
        """,
    ),
    "a function by name": (
        "return reduce(apply, self.layers, x)",
        "return self.layers.fold_via(lambda layer, x: apply(x, layer))(x)",
    ),
    "a method by name": (
        "return reduce(self.step, self.layers, x + 1)",
        "return self.layers.fold_via(lambda layer, carry: self.step(carry, layer))(x + 1)",
    ),
    "a local function by name": (
        "def step(h, layer):\n    h = h * scales[0]\n    return layer(h)\n\nreturn reduce(step, self.layers, x)",
        """
        def step(h, layer):
            h = h * scales[0]
            return layer(h)

        return self.layers.fold_via(lambda layer, x: step(x, layer))(x)
        """,
    ),
    "sums": (
        "return reduce(lambda total, layer: total + layer(x), self.layers, jnp.zeros(3))",
        "return self.layers.fold_via(lambda layer, total: total + layer(x))(jnp.zeros(3))",
    ),
    "in a lambda": (
        "return jax.vmap(lambda x: reduce(lambda x, layer: layer(x), self.layers, x))(jnp.eye(3))",
        "return jax.vmap(lambda x: self.layers.fold(x))(jnp.eye(3))",
    ),
    "one in another": (
        "return reduce(lambda h, l: l(h), self.layers, reduce(lambda h, l: l(h, 2.0), self.layers, x))",
        # The inner one still walks the list, which a stack would be taken apart for at every call.
        "return ArrayStacked.of(self.layers).fold(reduce(lambda h, l: l(h, 2.0), self.layers, x))",
    ),
    "comments": (
        """
        x = reduce(  # all of them
            # one after another
            lambda h, layer: layer(h)
            + h,  # a residual
            self.layers,
            x,  # the input
        )
        return x
        """,
        """
        x = self.layers.fold_via(
            # all of them
            # one after another
            # a residual
            # the input
            lambda layer, h: layer(h)
            + h,
        )(x)
        return x
        """,
    ),
    "comments of one call": (
        """
        return reduce(
            lambda h, layer: layer(h),
            self.layers,  # all of them
            x,
        )
        """,
        """
        return self.layers.fold(
            # all of them
            x,
        )
        """,
    ),
}
IN_A_BLOCK_SEQ: dict[str, tuple[str, str]] = {
    "a part of the list": (
        "return reduce(lambda h, layer: layer(h), self.layers[1:], x)",
        "return BlockSeq.of(self.layers[1:]).fold(x)",
    ),
    "a carry that is a tuple": (
        "return reduce(lambda c, layer: layer.both(*c), self.layers, (x, x * 2))",
        "return self.layers.fold_via(lambda layer, c: layer.both(*c))((x, x * 2))",
    ),
    "a sum that begins with a number": (
        "return reduce(lambda total, layer: total + layer(x), self.layers, 0)",
        "return self.layers.fold_via(lambda layer, total: total + layer(x))(0)",
    ),
    "a start that is None": (
        "return reduce(lambda h, layer: layer(x if h is None else h), self.layers, None)",
        "return self.layers.fold_via(lambda layer, h: layer(x if h is None else h))(None)",
    ),
}


def rewritten(text: str, folder: Path, stack: Any = None) -> str:
    (folder / "model.py").write_text(text)
    outcome = rewrite_sources(Project.load([folder]), stack=stack, accept=lambda plan: True)
    return outcome.texts[folder / "model.py"]


def call_of(text: str) -> str:
    return text.split("def __call__(self, x, scales, keys):\n")[1]


def outputs(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec"), names)
    model = names["Model"](3, 4, key=jax.random.key(1))
    x, scales = jnp.linspace(-1.0, 1.0, 3), jnp.linspace(0.5, 2.0, 4)
    return model(x, scales, jax.random.split(jax.random.key(2), 4))


def text_of(body: str) -> str:
    return HEAD + indent(dedent(body).strip("\n") + "\n", " " * 8)


@pytest.mark.parametrize("stack", [None, "call"])
@pytest.mark.parametrize("name", FORMS)
def test_a_reduce_becomes_a_call_that_computes_the_same(name: str, stack: Any, tmp_path: Path) -> None:
    before, after = FORMS[name]
    new = rewritten(text_of(before), tmp_path, stack)
    if stack is None:
        assert indent(dedent(after).strip("\n"), " " * 8) in call_of(new)
        assert "import ArrayStacked" in new
    else:
        assert "ArrayStacked.of(self.layers).fold" in call_of(new)
    same(outputs(new), outputs(text_of(before)))


@pytest.mark.parametrize("name", IN_A_BLOCK_SEQ)
def test_a_reduce_over_what_may_differ_does_too(name: str, tmp_path: Path) -> None:
    before, after = IN_A_BLOCK_SEQ[name]
    new = rewritten(text_of(before), tmp_path)
    assert indent(dedent(after).strip("\n"), " " * 8) in call_of(new)
    assert "import BlockSeq" in new
    same(outputs(new), outputs(text_of(before)))


def test_a_reduce_from_the_last_layer_is_a_scan_in_reverse(tmp_path: Path) -> None:
    text = text_of("return reduce(lambda h, layer: layer(h), reversed(self.layers), x)")
    new = rewritten(text, tmp_path)
    assert "return self.layers.fold_via(Block.__call__, reverse=True)(x)" in call_of(new)
    same(outputs(new), outputs(text))


def test_a_policy_goes_where_the_list_is_stacked(tmp_path: Path) -> None:
    text = text_of("return reduce(lambda h, layer: layer(h), self.layers, x)")
    (tmp_path / "model.py").write_text(text)
    given = Project.load([tmp_path])
    new = rewrite_sources(given, stack="call", remat="nested").texts[tmp_path / "model.py"]
    assert 'return ArrayStacked.of(self.layers, gradient_checkpointing="nested").fold(x)' in new
    same(outputs(new), outputs(text))
