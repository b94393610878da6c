"""Lists that last: a default, a name of a file, a constant of a class. Every call finds them as the last left them."""

import pytest
from helpers import PRELUDE, decide

from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack

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


def decided(name: str, code: str, default: str, made: str, first: str = "") -> Plan | Refusal:
    body = first + GROW.replace("LIST", name)
    (found,) = decide(HEAD + code + CLASS.format(default=default, body=body, made=made))
    return found


@pytest.mark.parametrize(("name", "code", "default", "made"), LASTS.values(), ids=LASTS)
def test_a_list_that_lasts_stays_a_list(name: str, code: str, default: str, made: str) -> None:
    found = decided(name, code, default, made)
    plan = found.undecided if isinstance(found, Refusal) else found
    assert plan is not None and isinstance(plan.stack, CallStack)


def test_one_that_each_call_makes_is_stacked_where_it_is_built() -> None:
    plan = decided("layers", "", "", "grow(depth, key)", "    layers = []\n")
    assert isinstance(plan, Plan) and plan.safe and isinstance(plan.stack, InitStack)
