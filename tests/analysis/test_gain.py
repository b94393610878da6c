"""Layers that nothing shows to share a body: in turns with others, each of its own sizes or settings."""

import pytest
from helpers import PRELUDE, decide, only

from scanify.analysis.plan import Kind, Plan, Refusal

APPLY = "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"


def net(init: str, parameters: str = "d, n, sizes, key", classes: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in init.splitlines())
    head = PRELUDE[: PRELUDE.index("class Model")]
    return f"{head}{classes}class Net(eqx.Module):\n    layers: list\n\n    def __init__(self, {parameters}):\n{lines}\n{APPLY}"


SETTINGS = """\
class Settings:
    width: int
    kernel: int


class Conv(eqx.Module):
    conv: eqx.nn.Conv1d

    def __init__(self, width, kernel, key):
        self.conv = eqx.nn.Conv1d(width, width, kernel, key=key)

    def __call__(self, x):
        return self.conv(x)


"""


@pytest.mark.parametrize(
    ("init", "rule"),
    [
        pytest.param(
            "self.layers = []\nfor a, b in zip(sizes[:-1], sizes[1:]):\n"
            "    self.layers.append(eqx.nn.Linear(a, b, key=key))\n    self.layers.append(eqx.nn.Lambda(jax.nn.relu))",
            "SCN202",
            id="linear and activation in turns",
        ),
        pytest.param(
            "sizes = [4, 8, 16, 12, 6, 5][: n + 1]\n"
            "self.layers = [eqx.nn.Linear(a, b, key=key) for a, b in zip(sizes[:-1], sizes[1:])]",
            "SCN203",
            id="sizes that are written out and all differ",
        ),
        pytest.param(
            "self.layers = [Conv(each.width, each.kernel, key) for each in sizes]",
            "SCN203",
            id="settings of each layer",
        ),
        pytest.param(
            "self.layers = [Conv(width, kernel, key) for width, kernel in sizes]",
            "SCN203",
            id="a tuple of settings for each layer",
        ),
    ],
)
def test_nothing_to_scan_over(init, rule):
    found = only(net(init, classes=SETTINGS))
    assert isinstance(found, Refusal), found
    assert found.rule == rule


@pytest.mark.parametrize(
    ("init", "kind"),
    [
        pytest.param(
            "self.layers = []\nfor k in jr.split(key, n):\n"
            "    self.layers.append(Block(d, key=k))\n    self.layers.append(eqx.nn.Lambda(jax.nn.relu))",
            Kind.GROUP,
            id="turns of equal layers repeat",
        ),
        pytest.param(
            "keys = jr.split(key, len(sizes) - 1)\n"
            "self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], keys)]",
            Kind.GROUP,
            id="sizes that the caller lists",
        ),
        pytest.param(
            "near, far = d, 2 * d\nself.layers = []\nfor k in jr.split(key, n):\n"
            "    self.layers.append(eqx.nn.Linear(near, far, key=k))\n    near, far = far, near",
            Kind.GROUP,
            id="two sizes that change places",
        ),
    ],
)
def test_some_may_share_a_body(init, kind):
    found = only(net(init, classes=SETTINGS))
    assert isinstance(found, Plan), found
    assert found.kind is kind


def test_a_list_that_some_caller_builds_with_one_layer_says_nothing_of_longer_ones():
    text = net(
        "dims = (d, *((n - 1) * (n,)), d)\nself.layers = [eqx.nn.Linear(dims[i], dims[i + 1], key=key)"
        " for i in range(len(dims) - 2)]",
        "d, n, key",
    )
    callers = "\n\ndef small(key):\n    return Net(4, 2, key).layers\n\n\ndef any_size(n, key):\n    return Net(4, n, key).layers\n"
    assert all(isinstance(found, Plan) for found in decide(text + callers))
