"""Mistakes in a case, which raise, in place of a verdict on the rewrite."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.errors import ScanifyError
from scanify.verify.compare.compare import compare_case
from tests.verify.loop_model import REWRITE, SOURCE


def test_what_the_original_raises_reaches_the_caller(compare):
    broken = SOURCE.replace("        rates =", "        raise RuntimeError('broken model')\n        rates =")
    with pytest.raises(RuntimeError, match="broken model"):
        compare({}, source=broken)


@pytest.mark.parametrize(
    "returned",
    [lambda model: model, lambda model: (model,), lambda model: (model, jnp.ones(3)), lambda model: (None, ())],
    ids=["the model alone", "a tuple of one", "an array of arguments", "no model"],
)
def test_a_case_that_returns_something_else_is_a_mistake(load_twice, returned):
    two = load_twice(SOURCE, REWRITE)
    cases = [lambda m=m: returned(m.Model(1, 2, key=jax.random.key(0))) for m in (two.before, two.after)]
    with pytest.raises(ScanifyError, match=r"^expected .*model.*, got"):
        compare_case("case", *cases, policies=("none",), requested=None, abstract=False, measure=False)


@pytest.mark.parametrize(
    "value", [lambda i: jnp.full((1, 4), float(i)), lambda i: np.ones((i, 4))], ids=["values", "shapes"]
)
def test_arguments_that_differ_between_the_calls_are_a_mistake(load_twice, value):
    two = load_twice(SOURCE, REWRITE)
    cases = [
        lambda m=m, i=i: (m.Model(3, 4, key=jax.random.key(0)), (value(i), jnp.ones(4)))
        for i, m in ((1, two.before), (2, two.after))
    ]
    with pytest.raises(ScanifyError, match=r"the same arguments.* x"):
        compare_case("case", *cases, policies=("none",), requested=None, abstract=False, measure=False)


class Plain:
    """No pytree: jax does not see what it holds."""

    def __init__(self, model):
        self.models = [model]

    def __call__(self, x, mask):
        return self.models[0](x, mask)


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
@pytest.mark.parametrize(
    "wrap",
    [
        jax.vmap,
        jax.jit,
        lambda model: lambda x, mask: model(x, mask),
        lambda model: functools.partial(jax.vmap(model)),
        Plain,
    ],
    ids=["vmap", "jit", "a lambda", "a partial", "an object"],
)
def test_parameters_hidden_in_a_function_are_a_mistake(load_twice, wrap, abstract):
    two = load_twice(SOURCE, REWRITE)
    cases = [
        lambda m=m: (wrap(m.Model(3, 4, key=jax.random.key(0))), (jnp.ones((1, 4)), jnp.ones((1, 4))))
        for m in (two.before, two.after)
    ]
    with pytest.raises(ScanifyError, match=r"closes over them.*eqx\.filter_vmap"):
        compare_case("case", *cases, policies=("none",), requested=None, abstract=abstract, measure=False)


def test_a_call_that_returns_no_array_is_a_mistake(compare):
    with pytest.raises(ScanifyError, match="nothing to compare"):
        compare({}, source=SOURCE.replace("self.norm\n        return x", "self.norm\n        return None"))
