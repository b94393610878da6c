"""Loops in an inner function over the layers of what the function around binds: evidence decides them."""

import pytest
from helpers import MANY, PRELUDE, only

from scanify.analysis.plan import Plan, Refusal

NET = f"{PRELUDE.replace('class Model(eqx.Module):', 'class Net(eqx.Module):')}    def __init__(self, depth, *, key):\n"
NET += f"        self.layers = {MANY}\n\n\n"
APPLY = "    def apply(x):\n        for layer in {walked}:\n            x = layer(x)\n        return x\n\n"


def decision(head: str, walked: str, after: str = "") -> Plan | Refusal:
    return only(f"{NET}def build({head}\n{APPLY.format(walked=walked)}    {after}\n    return apply\n")


@pytest.mark.parametrize(
    ("head", "walked", "after"),
    [
        ("net: Net):", "net.layers", ""),
        ("key):\n    net = Net(8, key=key)", "net.layers", ""),
        (f"key, depth):\n    layers = {MANY}", "layers", ""),
        ("net: Net, other):", "net.layers", "net = other"),
        ("net: Net, other):", "net.layers", "for net in other:\n        pass"),
        ("key, other):\n    net = Net(8, key=key)", "net.layers", "net = other"),
        (f"key, depth, other):\n    layers = {MANY}", "layers", "layers = other"),
        (f"key, depth, other):\n    layers = {MANY}", "layers", "layers.append(other)"),
        (f"key, depth, other):\n    layers = {MANY}", "layers", "layers[0] = other"),
        (f"key, depth, other):\n    layers = {MANY}", "layers", "other(layers)"),
        (
            f"key, depth, other):\n    layers = {MANY}",
            "layers",
            "def swap():\n        nonlocal layers\n        layers = other",
        ),
        (f"key, depth, other):\n    layers = {MANY}", "layers", "def swap():\n        layers.append(other)"),
    ],
)
def test_what_it_holds_when_the_inner_function_runs_is_open(head, walked, after):
    found = decision(head, walked, after)
    assert (isinstance(found, Refusal) and found.open) or (isinstance(found, Plan) and not found.safe)
