"""What is made of an object differs as anything in it does: told by objects that compare equal, which nobody would see."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan, Refusal
from tests.texts import texts

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
def test_objects_that_compare_equal_and_may_differ_are_held_back(value):
    (found,) = decide(MODEL.replace("@VALUE@", value))
    assert isinstance(found, Refusal) or not found.safe
    plan = found.undecided if isinstance(found, Refusal) else found
    assert plan is not None and any("its own `__eq__`" in each for each in texts(plan.obligations))


@pytest.mark.parametrize("passed", ["Tag(0.5 * i)", "Tag(float(jax.random.uniform(k)))"])
def test_objects_that_each_layer_is_passed_too(passed):
    text = MODEL.replace("Tag(@VALUE@)", "i").replace("Layer(d, i, k)", f"Layer(d, {passed}, k)")
    (found,) = decide(text)
    assert isinstance(found, Refusal) or not found.safe


def test_objects_that_compare_their_fields_are_told_apart():
    text = MODEL.replace(
        "class Tag:", "import dataclasses\n\n@dataclasses.dataclass(frozen=True)\nclass Tag:\n    v: float\n"
    )
    start, end = text.index("    def __init__(self, v)"), text.index("class Layer")
    (found,) = decide((text[:start] + text[end:]).replace("@VALUE@", "float(self.w[0])"))
    assert isinstance(found, Plan) and found.safe


def test_what_jax_looks_into_is_not_compared():
    registered = MODEL.replace("class Tag:", "@jax.tree_util.register_pytree_node_class\nclass Tag:")
    registered = registered.replace(" = eqx.field(static=True)", "").replace("self.tag.v", "2.0")
    (found,) = decide(registered.replace("@VALUE@", "self.w * 2"))
    assert isinstance(found, Plan)
