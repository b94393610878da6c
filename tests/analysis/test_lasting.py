"""Lists that last: a default, a name of a file, a constant of a class. Every call finds them as the last left them."""

import pytest
from helpers import PRELUDE, decide

from scanify.analysis.plan import CallStack, InitStack, Plan

CLASS = """\
def grow({default}depth, key):
{body}


class Tower(eqx.Module):
    layers: list[Block]

    def __init__(self, depth, *, key):
        self.layers = {made}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
GROW = "    for k in jr.split(key, depth):\n        LIST.append(Block(8, key=k))\n    return LIST\n"
# The list, how it gets there, and what the constructor calls.
LASTS = {
    "a default": ("layers", "", "*, layers=[], ", "grow(depth=depth, key=key)"),
    "a name of the file": ("LAYERS", "LAYERS = []\n\n\n", "", "grow(depth, key)"),
    "a constant of a class": ("Bank.layers", "class Bank:\n    layers = []\n\n\n", "", "grow(depth, key)"),
}
HEAD = PRELUDE[: PRELUDE.index("class Model(")]


def stacked(name: str, code: str, default: str, made: str, first: str = "") -> Plan:
    body = first + GROW.replace("LIST", name)
    (plan,) = decide(HEAD + code + CLASS.format(default=default, body=body, made=made))
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize(("name", "code", "default", "made"), LASTS.values(), ids=LASTS)
def test_a_list_that_lasts_stays_a_list(name: str, code: str, default: str, made: str) -> None:
    assert isinstance(stacked(name, code, default, made).stack, CallStack)


def test_one_that_each_call_makes_is_stacked_where_it_is_built() -> None:
    plan = stacked("layers", "", "", "grow(depth, key)", "    layers = []\n")
    assert plan.safe and isinstance(plan.stack, InitStack)
