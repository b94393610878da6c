"""What a function returns under a condition that differs between the layers is not the same for all of them."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan

CODE = """\
import equinox as eqx
import jax
import jax.random as jr


def maybe(opts, i):
    {body}


class Layer(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.LayerNorm | float | None

    def __init__(self, dim, norm, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.norm = norm

    def __call__(self, x):
        return x + jax.nn.gelu(self.linear(x))


class Model(eqx.Module):
    layers: list

    def __init__(self, opts, *, key):
        self.layers = [Layer(8, maybe(opts, i), key=k) for i, k in enumerate(jr.split(key, opts.depth))]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
NORM = "return eqx.nn.LayerNorm(8)"


def is_one_stack(body: str) -> bool:
    (found,) = decide(CODE.format(body=body.replace("\n", "\n    ")))
    return isinstance(found, Plan) and found.rule == "SCN101"


@pytest.mark.parametrize("rest", [NORM, f"else:\n    {NORM}"])
@pytest.mark.parametrize(
    "test",
    [
        "if i < 1:",
        "if opts.norm != 'pre' or i < opts.skip:",
        "if opts.norm and not i:",
        "if any(i == j for j in opts.at):",
        "while i < opts.first:",
        "for j in range(i):",
    ],
)
def test_layers_differ_by_what_their_number_decides(test, rest):
    assert not is_one_stack(f"{test}\n    return None\n{rest}")


@pytest.mark.parametrize(
    "body",
    [
        f"match i:\n    case 0:\n        return None\n{NORM}",
        f"try:\n    opts.table[i]\nexcept KeyError:\n    return None\n{NORM}",
        "if i < 1:\n    return 0.1\nreturn 0.2",
        f"if opts.norm:\n    if i > 2:\n        return None\n{NORM}",
        f"skip = i < 2\nif skip:\n    return None\n{NORM}",
    ],
)
def test_layers_differ_in_other_forms(body):
    assert not is_one_stack(body)
