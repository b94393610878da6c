"""The proof is linear in the size of the traced program: nodes of the table and pieces looked at, for stacks of layers
that double. Counts, no seconds."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scanify.jaxpr import table as tables
from scanify.jaxpr.rules import views
from scanify.verify.proof.prove import prove

WIDTH = 4
COUNTS = (12, 24, 48, 96)


def block(x: Any, w: Any, key: Any) -> Any:
    h = jnp.tanh(x @ w["up"]) @ w["down"] + w["bias"]
    return x + jnp.where(jax.random.bernoulli(key, 0.9, h.shape), h / 0.9, 0.0)


def loop(x: Any, layers: list[Any], key: Any) -> Any:
    for w, k in zip(layers, jax.random.split(key, len(layers)), strict=True):
        x = block(x, w, k)
    return x


def scan(x: Any, layers: list[Any], key: Any) -> Any:
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)
    step = jax.checkpoint(lambda c, row: (block(c, *row), None))
    return lax.scan(step, x, (stack, jax.random.split(key, len(layers))))[0]


def indexed(x: Any, layers: list[Any], key: Any) -> Any:
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)
    keys = jax.random.split(key, len(layers))
    step = lambda c, i: (block(c, jax.tree.map(lambda a: a[i], stack), keys[i]), None)  # noqa: E731
    return lax.scan(step, x, jnp.arange(len(layers)))[0]


def spent(layers: int, after: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Nodes made, nodes asked for, and slices taken, by the proof of the gradients of so many layers."""
    kind = jax.ShapeDtypeStruct
    one = {"up": kind((WIDTH, WIDTH), "f4"), "down": kind((WIDTH, WIDTH), "f4"), "bias": kind((WIDTH,), "f4")}
    key = jax.eval_shape(lambda: jax.random.key(0))
    x = kind((2, WIDTH), "f4")

    def traced(function: Callable[..., Any]) -> Any:
        def gradients(x: Any, weights: Any, key: Any, ct: Any) -> Any:
            return jax.vjp(lambda x, w: function(x, w, key), x, weights)[1](ct)

        return jax.make_jaxpr(gradients)(x, [one] * layers, key, x)

    programs = traced(loop), traced(after)
    count: Counter[str] = Counter()
    node, cut = tables.Table.node, views.cut

    def counted_node(self: Any, *rest: Any) -> int:
        before = len(self.op)
        number = node(self, *rest)
        count["asked for"] += 1
        count["made"] += len(self.op) - before
        return number

    def counted_cut(table: Any, value: int, bounds: Any) -> int:
        count["slices"] += 1
        return cut(table, value, bounds)

    with monkeypatch.context() as patch:
        patch.setattr(tables.Table, "node", counted_node)
        patch.setattr(views, "cut", counted_cut)
        assert prove(*programs, cotangents=1).proved
    return count


@pytest.mark.whole
def test_twice_the_layers_make_twice_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [spent(layers, scan, monkeypatch) for layers in COUNTS]
    for less, more in pairwise(counts):
        for what in ("made", "asked for", "slices"):
            assert more[what] <= 2.05 * less[what], (what, counts)
    first, second, third = (b["made"] - a["made"] for a, b in pairwise(counts))
    assert 1.95 <= second / first <= 2.05 and 1.95 <= third / second <= 2.05


def test_a_scan_that_indexes_its_stack_costs_the_square_of_what_it_scatters_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each layer adds its cotangents into a stack of all layers, in the traced program, too."""
    counts = [spent(layers, indexed, monkeypatch) for layers in (6, 12, 24)]
    for less, more in pairwise(counts):
        assert more["made"] <= 2.6 * less["made"], counts


def test_operands_that_operations_share_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a square of a square the operand stands on as many paths as two to the number of squares."""
    asked: Counter[int] = Counter()
    node = tables.Table.node

    def squares(count: int) -> Callable[[Any], Any]:
        def of(x: Any) -> Any:
            for _ in range(count):
                x = x * x
            return x

        return of

    for count in (4, 8):

        def counted_node(self: Any, *rest: Any, count: int = count) -> int:
            asked[count] += 1
            return node(self, *rest)

        of = squares(count)
        halves = jax.make_jaxpr(lambda x, of=of: jnp.concatenate([of(x[:2]), of(x[2:])]))
        with monkeypatch.context() as patch:
            patch.setattr(tables.Table, "node", counted_node)
            assert prove(halves(jnp.ones(4)), jax.make_jaxpr(of)(jnp.ones(4))).proved
    assert asked[8] <= 2 * asked[4]
