"""What is made of an object differs as anything in it does: told by objects that compare equal, which nobody would see."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan, Refusal

MODEL = """
import math
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from elsewhere import g

class Tag:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return isinstance(other, Tag)

    def __hash__(self):
        return 1

class Layer(eqx.Module):
    w: jax.Array
    inner: eqx.nn.Linear
    tag: object = eqx.field(static=True)

    def __init__(self, d: int, i, key):
        self.w = jax.random.normal(key, (d,))
        self.inner = eqx.nn.Linear(d, d, key=key)
        self.tag = Tag(@VALUE@)

    def __call__(self, x):
        return x * self.tag.v + jnp.tanh(self.w * x)

class Model(eqx.Module):
    layers: list

    def __init__(self, d: int, n, key):
        self.layers = [Layer(d, i, k) for i, k in enumerate(jax.random.split(key, n))]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""

DIFFERS = [
    "float(jnp.sum(jax.tree.leaves(self.__dict__)[0]))",
    "float(self.w[0])",
    "float(self.inner.weight[0, 0])",
    "float(self.inner(jnp.ones(d)).sum())",
    "g(self)",
    "g([self.w])",
    "g(lambda: i)",
    "g()",
    "sum([i, 2])",
    "int(np.prod((i, d)))",
    "f'{self}'",
    "str(vars(self))",
    "hash(str(self))",
    "id(self)",
    "self.w",
    "key",
    "lambda: i",
    "[lambda: i]",
    "max((1, i))",
    "dict(a=i)['a']",
    "math.log(i + 1)",
    "eqx.filter(self, eqx.is_array)",
]


@pytest.mark.parametrize("value", DIFFERS)
def test_objects_that_compare_equal_and_differ_are_told(value):
    (found,) = decide(MODEL.replace("@VALUE@", value))
    assert isinstance(found, Refusal)
    assert "compares objects by its own `__eq__`" in found.reason


@pytest.mark.parametrize("value", ["1.0", "d", "hash('a')", "self.w.shape", "jnp.tanh"])
def test_objects_that_are_equal_do_no_harm(value):
    (found,) = decide(MODEL.replace("@VALUE@", value))
    assert isinstance(found, Plan)
    assert found.safe


def test_what_jax_looks_into_is_not_compared():
    registered = MODEL.replace("class Tag:", "@jax.tree_util.register_pytree_node_class\nclass Tag:")
    registered = registered.replace(" = eqx.field(static=True)", "").replace("self.tag.v", "2.0")
    (found,) = decide(registered.replace("@VALUE@", "self.w * 2"))
    assert isinstance(found, Plan)


def test_what_a_list_is_as_a_whole_does_not_differ_as_its_elements_do():
    text = MODEL.replace("@VALUE@", "1.0").replace(
        "x = layer(x)", "x = layer(x) if len(self.layers) in self.taps else x"
    )
    found = decide(text)
    assert all("differs" not in getattr(each, "reason", "") for each in found)
