"""Dicts of a layer that are walked: a stack holds them with their keys sorted, as `jax.jit` hands them on."""

import pytest
from helpers import PRELUDE, decide

from scanify.analysis.plan import Plan
from tests.texts import texts

MODEL = (
    PRELUDE
    + """
    def __init__(self, depth, *, key):
        self.layers = [Chain(k) for k in jr.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Chain(eqx.Module):
    ops: dict

    def __init__(self, key):
        self.ops = {ops}

    def __call__(self, x):
{body}
        return x
"""
)
UNSORTED = '{"norm": eqx.nn.LayerNorm(8), "linear": eqx.nn.Linear(8, 8, key=key)}'
SORTED = '{"linear": eqx.nn.Linear(8, 8, key=key), "norm": eqx.nn.LayerNorm(8)}'
MADE = "{name: eqx.nn.Linear(8, 8, key=key) for name in ('b', 'a')}"
VALUES = "for op in self.ops.values():\n    x = op(x)"


def obliged(ops: str, body: str) -> bool:
    """Whether a plan says that the order of the keys may matter."""
    text = MODEL.replace("{ops}", ops).replace("{body}", "\n".join(f"        {line}" for line in body.split("\n")))
    found = next(each for each in decide(text) if isinstance(each, Plan) and each.container == "self.layers")
    return any("with the keys sorted" in each for each in texts(found.obligations))


@pytest.mark.parametrize("ops", [UNSORTED, MADE])
@pytest.mark.parametrize(
    "body",
    [
        VALUES,
        "for name in self.ops:\n    x = self.ops[name](x)",
        "for _, op in self.ops.items():\n    x = op(x)",
        "first, second = self.ops.values()\nx = second(first(x))",
        "x = [*self.ops.values()][0](x)",
        "x = self.ops[list(self.ops)[0]](x)",
    ],
)
def test_an_order_that_is_not_theirs_is_held_back(ops: str, body: str) -> None:
    text = MODEL.replace("{ops}", ops).replace("{body}", "\n".join(f"        {line}" for line in body.split("\n")))
    found = next(each for each in decide(text) if isinstance(each, Plan) and each.container == "self.layers")
    assert not found.safe


@pytest.mark.parametrize(
    ("ops", "body"),
    [
        (SORTED, VALUES),
        (UNSORTED, 'x = self.ops["linear"](x)'),
        (UNSORTED, 'for op in {"z": self.ops["linear"], "a": self.ops["norm"]}.values():\n    x = op(x)'),
        (UNSORTED, "for name, value in sorted({'z': 1, 'a': 2}.items()):\n    x = x * value"),
    ],
)
def test_keys_that_are_sorted_or_asked_for_and_dicts_of_the_call_are_no_matter(ops: str, body: str) -> None:
    assert not obliged(ops, body)
