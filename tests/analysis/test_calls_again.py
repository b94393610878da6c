"""Calls that are run once for all objects of a kind: each object is its own, and what is done to it is done to it."""

import pytest
from helpers import decide, model, only, refused

from scanify.analysis.plan import Kind, Plan, Refusal

HEAD = """\
import equinox as eqx
import jax
import jax.random as jr


class Box:
    def __init__(self):
        self.data = {}

    def put(self, name, x):
        self.data[name] = x

    def empty(self):
        return Box()


SHARED = Box()


def same(box):
    return box


def put(box, x):
    box.data["x"] = x
    return box


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, *, key):
        self.linear = eqx.nn.Linear(8, 8, key=key)

    def __call__(self, x):
%s
        return self.linear(x)


class Model(eqx.Module):
    layers: list

    def __init__(self, depth, *, key):
        self.layers = [Block(key=k) for k in jr.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def block(*lines: str) -> str:
    return HEAD % "\n".join(f"        {line}" for line in lines)


def test_what_is_done_to_a_new_object_is_not_understood():
    plan = only(block("first, second = Box(), Box()", "first.put('x', x)", "second.put('x', x)", "put(second, x)"))
    assert isinstance(plan, Refusal) or not plan.safe
    plan = only(block("box = put(Box(), x)", "other = box.empty()", "other.put('x', x)", "put(same(other), x)"))
    assert isinstance(plan, Refusal) or not plan.safe


def test_what_is_done_to_a_new_object_first_is_no_excuse_for_another():
    assert "data" in refused("SCN207", block("Box().put('x', x)", "SHARED.put('x', x)")).reason
    assert "data" in refused("SCN207", block("put(Box(), x)", "put(SHARED, x)")).reason
    assert "data" in refused("SCN207", block("same(Box()).put('x', x)", "same(SHARED).put('x', x)")).reason


CARRIED = """\
import equinox as eqx
import jax
import jax.random as jr


@jax.tree_util.register_pytree_node_class
class Image:
    def __init__(self, data, scale=None):
        self.data = data
        self.scale = scale

    def with_data(self, data):
        return self.__class__(data, self.scale)

    def __contains__(self, key):
        return key in self.data

    def __add__(self, other):
        %(add)s
        return Image(self.data + other.data, self.scale)

    def tree_flatten(self):
        return (self.data,), self.scale

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, aux)


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, *, key):
        self.linear = eqx.nn.Linear(8, 8, key=key)

    def __call__(self, x: Image):
        %(first)s
        return x.with_data(self.linear(x.data))


class Model(eqx.Module):
    layers: list
    last: Image

    def __init__(self, depth, *, key):
        self.layers = [Block(key=k) for k in jr.split(key, depth)]
        self.last = Image(1)

    def __call__(self, x: Image):
        for layer in self.layers:
            x = layer(x) + x
        return x


def run(models, xs):
    return jax.vmap(lambda model, x: model(x))(models, xs), jax.tree.map(Model.__call__, models, xs)
"""


def carried(first: str = "pass", add: str = "pass") -> str:
    return CARRIED % {"first": first, "add": add}


@pytest.mark.parametrize("first", ["x.scale = 2.0", "x.scale = 2.0 if x.scale is None else x.scale"])
def test_a_store_into_a_carry_is_one_into_what_the_caller_passes(first):
    assert "`x.scale`" in refused("SCN207", carried(first)).reason


def test_an_operator_of_a_class_is_a_call():
    assert not only(carried(add="print(other)")).safe


FACTORY = """\
import random

import equinox as eqx
import jax
import jax.random as jr


class Inner(eqx.Module):
    weight: jax.Array

    def __init__(self, key):
        self.weight = jr.normal(key, (8, 8))

    def __call__(self, x):
        return self.weight @ x


class Block(eqx.Module):
    inner: Inner
    bias: jax.Array
    rate: float = eqx.field(static=True)

    def __init__(self, inner, rate, key):
        self.inner = inner
        self.rate = rate
        self.bias = jr.normal(key, (8,))

    def __call__(self, x):
        return jax.nn.tanh(self.inner(x) + self.bias) * self.rate


def rate():
    return %(rate)s


def make(depth, key):
    inner = Inner(key)
    return [Block(%(inner)s, 0.5, k) for k in jr.split(key, depth)]


class Model(eqx.Module):
    before: list
    layers: list
    scale: float

    def __init__(self, depth, *, key):
        %(before)s
        self.layers = %(layers)s

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.scale * x
"""


def factory(**parts: str) -> str:
    plain = {"rate": "0.5", "inner": "Inner(k)", "layers": "make(depth, key)"}
    return FACTORY % (plain | {"before": "self.before, self.scale = make(depth, key), 1.0"} | parts)


def test_a_factory_that_is_called_twice_makes_layers_of_their_own_each_time():
    assert isinstance(only(factory()), Plan)


def test_what_the_layers_of_a_factory_share_they_share_in_its_second_list_too():
    # The second call is not run: what was made before the loop in it has to stay before the loop.
    refused("SCN204", factory(inner="inner"))


def test_a_number_that_is_drawn_is_another_one_for_each_layer():
    layers = "[Block(Inner(k), rate(), k) for k in jr.split(key, depth)]"
    for rate in ("0.5", "random.random()"):
        found = only(factory(layers=layers, before="self.before, self.scale = [], rate()", rate=rate))
        assert isinstance(found, Refusal) and found.undecided is not None


PAIR = """\
import equinox as eqx
import jax
import jax.random as jr

COUNTS = []


def even(x, n):
    return x if n == 0 else odd(x, n - 1)


def odd(x, n):
    COUNTS.append(n)
    return even(x, n - 1)


class Block(eqx.Module):
    weight: jax.Array
    index: int

    def __init__(self, index, key):
        self.weight, self.index = jr.normal(key, (8, 8)), index

    def __call__(self, x):
        return %s


class Model(eqx.Module):
    before: list
    layers: list

    def __init__(self, depth, *, key):
        self.before = [Block(i, k) for i, k in enumerate(jr.split(key, depth))]
        self.layers = [Block(i, k) for i, k in enumerate(jr.split(key, depth))]

    def __call__(self, x):
        for layer in self.before:
            x = %s
        for layer in self.layers:
            x = layer(x)
        return x
"""


def test_what_calls_a_function_that_runs_does_more_by_itself():
    # `odd` is run first, and `even` in it, where `odd` is cut short: that is not all that `even` does.
    first, second = decide(PAIR % ("even(self.weight @ x, 4)", "odd(layer(x), 3)"))
    assert (first.rule, second.rule) == ("SCN207", "SCN207")


def test_layers_branch_on_what_differs_in_the_second_list_too():
    # The layers of the second list differ in another loop than those of the first.
    first, second = decide(PAIR % ("x if self.index % 2 else self.weight @ x", "layer(x)"))
    assert (first.kind, second.kind) == (Kind.GROUP, Kind.GROUP)


EXPERTS = """\
import equinox as eqx
import jax
import jax.random as jr


def linear(width, *, key):
    return eqx.nn.Linear(width, width, key=key)


class Expert(eqx.Module):
    up: eqx.nn.Linear

    def __init__(self, width, *, key):
        self.up = linear(width, key=key)

    def __call__(self, x):
        return self.up(x)


class Block(eqx.Module):
    experts: Expert

    def __init__(self, experts):
        self.experts = experts

    def __call__(self, x):
        return x + eqx.filter_vmap(lambda expert: expert(x))(self.experts).sum(0)


def blocks(width, depth, *, key):
    make = lambda k: Expert(width, key=k)
%s


def run(width, depth, x, *, key):
    one, other = blocks(width, depth, key=key), blocks(width, depth, key=key)
    for layer in one:
        x = layer(x)
    for layer in other:
        x = layer(x)
    return x
"""


def test_experts_that_vmap_stacks_are_made_anew_in_the_second_list_too():
    made = "    return [Block(eqx.filter_vmap(make)(jr.split(k, 4))) for k in jr.split(key, depth)]"
    assert all(isinstance(found, Plan) for found in decide(EXPERTS % made))


def test_experts_that_vmap_stacks_before_the_layers_are_shared():
    made = """\
    experts = eqx.filter_vmap(make)(jr.split(key, 4))
    return [Block(experts) for _ in range(depth)]"""
    for found in decide(EXPERTS % made):
        assert found.rule == "SCN204" and "the same array, `experts`" in found.reason


HELD = """\
import equinox as eqx
import jax.numpy as jnp
import jax.random as jr


class Inner(eqx.Module):
    scale: eqx.nn.Linear

    def __init__(self, key, like=jnp.{default}):
        self.scale = eqx.nn.Linear(4, 4, key=key, dtype={used})

    def __call__(self, x):
        return self.scale(x)


class Block(eqx.Module):
    inner: Inner

    def __init__(self, key, like=jnp.{default}):
        self.inner = Inner(key, like=like)

    def __call__(self, x):
        return self.inner(x)


class Model(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [Block(k) for k in jr.split(key, 4)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


@pytest.mark.parametrize(("default", "shared"), [("result_type(float)", False), ("zeros(3)", True)])
def test_a_default_that_is_no_array_is_not_shared(default, shared):
    used = "like.dtype" if shared else "like"
    (found,) = decide(HELD.format(default=default, used=used))
    assert (isinstance(found, Refusal) and found.rule == "SCN204") is shared, found


@pytest.mark.parametrize("line", ["SEEN.append(1)", "pass"])
def test_a_decorator_of_the_project_is_not_understood(line):
    counted = (
        f"SEEN = []\n\n\ndef counted(f):\n    def g(x):\n        {line}\n        return f(x)\n\n    return g\n\n\n"
    )
    text = model("for layer in self.layers:\n    x = helper(layer(x))")
    found = only(text.replace("def helper(x):", f"{counted}@counted\ndef helper(x):"))
    assert isinstance(found, Plan) and "decorator" in str(found.obligations[0])
