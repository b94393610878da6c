"""Loops that collect: what becomes of them, text for text, and that the collections are what they were."""

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.analysis.plan import Plan
from scanify.pipeline import Project, rewrite_sources

HEAD = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    weight: jax.Array

    def __init__(self, key):
        self.weight = jax.random.normal(key, (3, 3))

    def __call__(self, x):
        return jnp.sin(self.weight @ x)


class Model(eqx.Module):
    layers: list
    taps: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, keys, taps=(0, 2)):
        self.layers = [Block(k) for k in keys]
        self.taps = taps

    def __call__(self, x, mask=None, wanted=True):
"""


def rewritten(text: str, folder: Path) -> str:
    """The text after the rewrite, which must be one of a scan; a second run must change nothing."""
    (folder / "model.py").write_text(text)
    outcome = rewrite_sources(Project.load([folder]), stack="init", remat=None, accept=lambda plan: True)
    assert [type(loop) for loop in outcome.analysis.loops] == [Plan], outcome.analysis.loops
    assert outcome.analysis.loops[0].rule == "SCN105"
    new = outcome.texts[folder / "model.py"]
    (folder / "model.py").write_text(new)
    again = rewrite_sources(Project.load([folder]), stack="init", remat=None, accept=lambda plan: True)
    assert not again.changes and not again.analysis.loops
    return new


def body(text: str) -> str:
    return HEAD + indent(dedent(text).strip("\n") + "\n", " " * 8)


FORMS = {
    "a list that is empty before the loop is assigned whole": (
        """
        outs = []
        total = jnp.zeros(())
        for layer in self.layers:
            x = layer(x)
            outs.append(x)
        return x, outs, total
        """,
        """
        total = jnp.zeros(())

        def apply_layer(layer, x):
            x = layer(x)
            return x, x

        x, outs = self.layers.collect_via(apply_layer)(x)
        return x, outs, total
        """,
    ),
    "a list that is not empty any more is added to": (
        """
        outs = []
        outs.append(x)
        for layer in self.layers:
            x = layer(x)
            outs.append(x)
        return x, outs
        """,
        """
        outs = []
        outs.append(x)

        def apply_layer(layer, x):
            x = layer(x)
            return x, x

        x, collected = self.layers.collect_via(apply_layer)(x)
        outs.extend(collected)
        return x, outs
        """,
    ),
    "a list that is made empty outside of a branch is added to": (
        """
        outs = []
        if wanted:
            for layer in self.layers:
                x = layer(x)
                outs.append(x)
        return x, outs
        """,
        """
        outs = []
        if wanted:

            def apply_layer(layer, x):
                x = layer(x)
                return x, x

            x, collected = self.layers.collect_via(apply_layer)(x)
            outs.extend(collected)
        return x, outs
        """,
    ),
    "the body is kept word for word": (
        """
        outs = []
        # all of them
        for layer in self.layers:  # in order
            # first

            x  = layer( x )   # odd
            outs.append(
                x  # as it is
            )

            # last
        return x, outs
        """,
        """
        outs = []

        # all of them
        def apply_layer(layer, x):  # in order
            layer_outs = []
            # first

            x  = layer( x )   # odd
            layer_outs.append(
                x  # as it is
            )

            # last
            return x, layer_outs

        x, collected = self.layers.collect_via(apply_layer)(x)
        for ys in collected:
            outs.extend(ys)
        return x, outs
        """,
    ),
    "one element of every layer is given back as it is": (
        """
        outs, sizes, taps = [], [], []
        for layer in self.layers:
            taps.append(x)  # before
            x = layer(x)
            sizes.append(jnp.linalg.norm(x))
            outs.append(x)  # after
        return x, outs, sizes, taps
        """,
        """
        outs, sizes, taps = [], [], []

        def apply_layer(layer, x):
            tap = x  # before
            x = layer(x)
            size = jnp.linalg.norm(x)
            return x, (tap, size, x)  # after

        x, collected = self.layers.collect_via(apply_layer)(x)
        for tap, size, out in collected:
            taps.append(tap)
            sizes.append(size)
            outs.append(out)
        return x, outs, sizes, taps
        """,
    ),
    "names that are taken are not used": (
        """
        ys, y, collected, at = [], mask, None, None
        for layer in self.layers: x = layer(x); ys += [x]
        return x, ys, y, collected, at
        """,
        """
        ys, y, collected, at = [], mask, None, None

        def apply_layer(layer, x):
            layer_ys = []
            x = layer(x); layer_ys += [x]
            return x, layer_ys

        x, collected_2 = self.layers.collect_via(apply_layer)(x)
        for ys_2 in collected_2:
            ys.extend(ys_2)
        return x, ys, y, collected, at
        """,
    ),
    "two carries, a tuple that may be None, a dict with several entries": (
        """
        total, both = jnp.zeros(()), (() if wanted else None)
        seen = {}
        for layer, scale in zip(self.layers, mask):
            seen["b"] = x
            x = layer(x) * scale
            total = total + x.sum()
            seen["a"] = total
            if wanted:
                both = both + (x,)
        return x, total, seen, both
        """,
        """
        total, both = jnp.zeros(()), (() if wanted else None)
        seen = {}

        def apply_layer(layer, carry, scale):
            x, total = carry
            layer_seen = {}
            layer_both = ()
            layer_seen["b"] = x
            x = layer(x) * scale
            total = total + x.sum()
            layer_seen["a"] = total
            if wanted:
                layer_both = layer_both + (x,)
            return (x, total), (layer_seen, layer_both)

        (x, total), collected = self.layers.collect_via(apply_layer, in_axes=(0,))(
            (x, total), mask
        )
        for more_seen, more_both in collected:
            seen.update(more_seen)
            for y in more_both:
                both += (y,)
        return x, total, seen, both
        """,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str, tmp_path: Path) -> None:
    before, after = FORMS[name]
    new = rewritten(body(before), tmp_path)
    assert (
        new[new.index("    def __call__(self, x, mask") :]
        == body(after)[HEAD.index("    def __call__(self, x, mask") :]
    )


# -- what they compute --------------------------------------------------------------------------------------------

STARTS = {
    "outs": [
        "outs = []",
        "outs = [x]",
        "outs: list = [None] * 2",
        "outs = list(self.taps)",
        "outs = [] if wanted else None",
    ],
    "pair": ["pair = ()", "pair = (x, 1)", "pair = () if wanted else None"],
    "named": ["named = {}", "named = {'layer 1': 0, 'z': x}", "named = dict(a=x) if wanted else None"],
}
GROWTH = {
    "outs": ["outs.append(x)", "outs += [x, 2]", "outs = outs + [{'x': x, 'at': i}]", "outs.extend(jnp.split(x, 3))"],
    "pair": ["pair += (x.sum(),)", "pair = pair + (f'layer {i}', None)", "pair = pair + ((x, 1.5, True),)"],
    "named": ["named[f'layer {i}'] = x", "named['z'] = i", "for k in 'ba':\n    named[k] = x"],
}
GUARDS = ["", "", "if i in self.taps:", "if i % 2:", "if mask is not None:"]


@st.composite
def bodies(draw: Any) -> tuple[str, bool]:
    """A method that collects into some of three collections, and whether it asks for those that may be None."""
    names = draw(st.lists(st.sampled_from(sorted(STARTS)), min_size=1, max_size=3, unique=True))
    wanted = draw(st.booleans())
    lines = [draw(st.sampled_from(STARTS[name])) for name in names]
    maybe = {name for name, line in zip(names, lines, strict=True) if "if wanted" in line}
    statements = []
    again = draw(st.lists(st.sampled_from(names), max_size=4))
    for name in again + names:
        statement, guard = draw(st.sampled_from(GROWTH[name])), draw(st.sampled_from(GUARDS))
        if name in maybe:
            guard = "if wanted:"
        statements.append(f"{guard}\n{indent(statement, '    ')}" if guard else statement)
    at = draw(st.integers(0, len(statements)))
    inner = "\n".join([*statements[:at], "x = layer(x)", *statements[at:]])
    loop = f"for i, layer in enumerate(self.layers):\n{indent(inner, '    ')}"
    return body("\n".join([*lines, loop, f"return x, {', '.join(names)},"])), wanted


def load(text: str) -> Any:
    scope: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec", dont_inherit=True), scope)
    return scope["Model"](jax.random.split(jax.random.key(0), 4))


def same(one: Any, other: Any) -> None:
    """Equal in type and order, down to the leaves; arrays up to rounding."""
    assert type(one) is type(other) or (hasattr(one, "dtype") and hasattr(other, "dtype")), (one, other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
    elif hasattr(one, "dtype"):
        assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, other.weak_type)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    else:
        assert one == other


@settings(max_examples=6, deadline=None)
@given(bodies(), st.sampled_from([None, 1]))
def test_the_collections_are_what_they_were(tmp_path_factory: pytest.TempPathFactory, made: Any, mask: Any) -> None:
    text, wanted = made
    new = rewritten(text, tmp_path_factory.mktemp("model"))
    x = jnp.array([0.5, -1.0, 2.0])
    same(load(text)(x, mask, wanted), load(new)(x, mask, wanted))
