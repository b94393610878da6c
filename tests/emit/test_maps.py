"""Comprehensions over layers and what is written in their place: text for text, and computing the same."""

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.pipeline import Project, rewrite_sources

HEAD = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Head(eqx.Module):
    weight: jax.Array

    def __init__(self, width, *, key):
        self.weight = jr.normal(key, (width, width))

    def __call__(self, x, scale=1.0, *, key=None):
        y = jnp.sin(self.weight @ x) * scale
        return y if key is None else y + jr.normal(key, y.shape)

    def twice(self, x):
        return self.weight @ x, x


class Model(eqx.Module):
    heads: list[Head]

    def __init__(self, width, depth, *, key):
        self.heads = [Head(width, key=k) for k in jr.split(key, depth)]

    def __call__(self, x, scales, keys):
"""

# name: (the body of the call, what becomes of it)
FORMS: dict[str, tuple[str, str]] = {
    "a list": (
        "return [head(x) for head in self.heads]",
        "return self.heads.map_via(Head.__call__)(x)",
    ),
    "no space before the bracket": (
        "return[head(x) for head in self.heads]",
        "return self.heads.map_via(Head.__call__)(x)",
    ),
    "an element of the list": (
        "return [head(x) for head in self.heads][-1]",
        "return self.heads.map_via(Head.__call__)(x)[-1]",
    ),
    "the parentheses of a generator go": (
        "return sum((head(x, 2.0) for head in self.heads), jnp.zeros(3))",
        "return sum(self.heads.map_via(Head.__call__)(x, 2.0), jnp.zeros(3))",
    ),
    "those of the call stay": (
        "return sum(head(x) for head in self.heads)",
        "return sum(self.heads.map_via(Head.__call__)(x))",
    ),
    "per layer": (
        "return [head(x, s, key=k) for head, s, k in zip(self.heads, scales, keys)]",
        'return self.heads.map_via(Head.__call__, in_axes=((None, 0), {"key": 0}))(\n    x, scales, key=keys\n)',
    ),
    "a method, and a tuple that is unpacked": (
        "ys, xs = zip(*[head.twice(x) for head in self.heads])\nreturn sum(ys), xs",
        "ys, xs = zip(*self.heads.map_via(Head.twice)(x))\nreturn sum(ys), xs",
    ),
    "an argument for each layer that is used twice": (
        "return [head(x * s, s) for head, s in zip(self.heads, scales)]",
        "return self.heads.map_via(lambda head, s: head(x * s, s), in_axes=(0,))(scales)",
    ),
    "an element in parentheses": (
        "return [(head(x), 1) for head in self.heads]",
        "return self.heads.map_via(lambda head: (head(x), 1))()",
    ),
    "an element that is a lambda's": (
        "return jax.vmap(lambda s: sum(head(x, s) for head in self.heads))(scales)",
        "return jax.vmap(lambda s: sum(self.heads.map_via(Head.__call__)(x, s)))(scales)",
    ),
    "comments inside and behind": (
        """
        return jnp.stack(
            [
                # above
                head(
                    x,  # in the element
                )
                * 2  # behind it
                # below
                for head in self.heads  # of all
            ],  # after
            axis=-1,
        )
        """,
        """
        return jnp.stack(
            self.heads.map_via(
                # above
                # behind it
                # below
                # of all
                lambda head: head(
                    x,  # in the element
                )
                * 2,
            )(),  # after
            axis=-1,
        )
        """,
    ),
    "a loop that appends, with its comments": (
        "outs = []\nfor head in self.heads:  # each\n    outs.append(head(x) * 2)\nreturn outs",
        "outs = []\nouts.extend(self.heads.map_via(lambda head: head(x) * 2)())  # each\nreturn outs",
    ),
}


def rewritten(text: str, folder: Path, stack: Any = None) -> str:
    (folder / "model.py").write_text(text)
    outcome = rewrite_sources(Project.load([folder]), stack=stack)
    return outcome.texts[folder / "model.py"]


def call_of(text: str) -> str:
    return text.split("def __call__(self, x, scales, keys):\n")[1]


def model_of(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec"), names)
    return names["Model"](3, 4, key=jax.random.key(1))


def outputs(text: str) -> Any:
    x, scales = jnp.linspace(-1.0, 1.0, 3), jnp.linspace(0.5, 2.0, 4)
    return model_of(text)(x, scales, jax.random.split(jax.random.key(2), 4))


def same(got: Any, want: Any) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert eqx.is_array(one) == eqx.is_array(other)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("stack", [None, "call"])
@pytest.mark.parametrize("name", FORMS)
def test_a_comprehension_becomes_a_call_that_computes_the_same(name: str, stack: Any, tmp_path: Path) -> None:
    before, after = FORMS[name]
    text = HEAD + indent(dedent(before).strip("\n") + "\n", " " * 8)
    new = rewritten(text, tmp_path, stack)
    if stack is None:
        assert indent(dedent(after).strip("\n"), " " * 8) in call_of(new)
    else:
        assert "ArrayStacked.of(self.heads).map_via" in call_of(new)
    same(outputs(new), outputs(text))


def test_a_long_line_is_broken_inside_the_parentheses(tmp_path: Path) -> None:
    body = "        weighted = [jnp.tanh(head(x, scale)) * scale for head, scale in zip(self.heads, scales)]\n"
    text = HEAD + body + "        return weighted\n"
    new = rewritten(text, tmp_path)
    assert call_of(new).splitlines()[:3] == [
        "        weighted = self.heads.map_via(",
        "            lambda head, scale: jnp.tanh(head(x, scale)) * scale, in_axes=(0,)",
        "        )(scales)",
    ]
    same(outputs(new), outputs(text))


def test_a_map_inside_a_loop_is_left_for_a_second_run(tmp_path: Path) -> None:
    body = "        for head in self.heads:\n            x = head(x) + sum(other(x) for other in self.heads)\n"
    text = HEAD + body + "        return x\n"
    once = rewritten(text, tmp_path)
    assert "fold_via" in once
    assert "sum(other(x) for other in self.heads)" in once
    same(outputs(once), outputs(text))
    twice = rewritten(once, tmp_path)
    same(outputs(twice), outputs(text))


def test_a_part_of_the_list_is_stacked_in_the_call(tmp_path: Path) -> None:
    text = HEAD + "        ys = [head(x * i) for i, head in enumerate(self.heads[1:])]\n        return ys\n"
    new = rewritten(text, tmp_path)
    assert "from scanify.nn import BlockSeq\n" in new
    assert call_of(new).splitlines()[:3] == [
        "        ys = BlockSeq.of(self.heads[1:]).map_via(",
        "            lambda head, i: head(x * i), in_axes=(0,)",
        "        )(range(len(self.heads[1:])))",
    ]
    same(outputs(new), outputs(text))
