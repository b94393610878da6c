"""A number of layers that every caller in the project leaves at a default below three: nothing is gained."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan

CODE = """\
import functools

import equinox as eqx
import jax.random as jr


class Net(eqx.Module):
    layers: list[eqx.nn.Linear]

    def __init__(self, dim, n={default}, *, key, m=1):
        self.layers = [eqx.nn.Linear(dim, dim, key=k) for k in {keys}]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


{calls}
"""
KEYS = "jr.split(key, n)"
CALL = "net = Net(8, key=jr.key(0))"


def is_offered(calls: str = CALL, keys: str = KEYS, default: str = "2") -> bool:
    found = [each for each in decide(CODE.format(calls=calls, keys=keys, default=default)) if isinstance(each, Plan)]
    return bool(found)


@pytest.mark.parametrize("keys", [KEYS, "jr.split(key, m)", "jr.split(key, n - 1)"])
def test_nothing_is_gained_where_nobody_gives_another(keys):
    assert not is_offered(keys=keys)


@pytest.mark.parametrize(
    "calls",
    [
        "",  # a class for others, who may give one
        f"{CALL}\nother = Net(8, 12, key=jr.key(0))",
        f"{CALL}\nother = Net(8, n=12, key=jr.key(0))",
        f"{CALL}\nother = Net(*sizes, key=jr.key(0))",
        f"{CALL}\nother = Net(8, **settings)",
        f"{CALL}\nmake = functools.partial(Net, n=3)",
        f"{CALL}\n\n\nclass Deep(Net):\n    def __init__(self, dim, *, key):\n        super().__init__(dim, n=12, key=key)",
    ],
)
def test_who_gives_another_gains(calls):
    assert is_offered(calls=calls)


def test_three_are_enough():
    assert is_offered(default="3")
    assert is_offered(keys="jr.split(key, n + 1)")


APPENDED = """\
        self.layers = []
        for {i} in {walked}:
            {body}"""
COMPREHENSION = "        self.layers = [eqx.nn.Linear(dim, dim, key=k) for k in {keys}]"


@pytest.mark.parametrize(("i", "walked"), [("k", "jr.split(key, n)"), ("i, k", "enumerate(jr.split(key, n))")])
def test_a_loop_that_appends_is_counted_like_a_comprehension(i, walked):
    append = "self.layers.append(eqx.nn.Linear(dim, dim, key=k))"
    bodies = {append: False, f"if dim > 4:\n                {append}\n            {append}": True}
    for body, offered in bodies.items():
        code = CODE.replace(COMPREHENSION, APPENDED.format(i=i, walked=walked, body=body))
        found = decide(code.format(calls=CALL, default="2"))
        assert any(isinstance(each, Plan) for each in found) == offered, found
