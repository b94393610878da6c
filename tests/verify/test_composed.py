"""Two things at once: what is otherwise in a version is seen whatever else the versions have in common."""

from typing import NamedTuple

import pytest

from scanify.verify.request import Response
from scanify.verify.verdict import CaseResult
from tests.verify.in_turn import compared, proved

MODEL = """
import contextlib
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

TOP


class Inner(eqx.Module):
    held: object


class Layer(eqx.Module):
    linear: eqx.nn.Linear
    more: object

    def __init__(self, key):
        self.linear = eqx.nn.Linear(3, 3, key=key)
        self.more = MORE

    def __call__(self, x):
        y = jnp.tanh(self.linear(x))
        return BODY


class Model(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [Layer(k) for k in jax.random.split(key, 2)]

    def __call__(self, x, log):
        for layer in self.layers:
            x = layer(x)
        return OUT
"""
CASES = """
import jax
import jax.numpy as jnp


def case(module):
    return module.Model(jax.random.key(0)), (jnp.arange(3.0) + 0.5, [])
"""


class Text(NamedTuple):
    top: str = ""
    more: str = "None"
    body: str = "y"
    out: str = "x"

    def __str__(self) -> str:
        text = MODEL.replace("TOP", self.top).replace("MORE", self.more)
        return text.replace("BODY", self.body).replace("return OUT", f"return {self.out}")


INIT = """
_init = eqx.nn.Linear.__init__
if not getattr(_init, "ours", False):
    def init(self, *args, key, **kwargs):
        _init(self, *args, key=key, **kwargs)
        object.__setattr__(self, "bias", self.bias + {0})
    init.ours = True
    eqx.nn.Linear.__init__ = init
"""
FULL = "jax.nn.initializers.ones = lambda key, shape: jnp.full(shape, {0})"
UNIFORM = "jax.random.uniform = functools.partial(lambda f, *a, **k: {0} * f(*a, **k), jax._src.random.uniform)"
HOOKS = "jnp.hooks = getattr(jnp, 'hooks', [])\njnp.hooks.append(lambda y: {0} * y)"
NAMED = "eqx.nn.named = getattr(eqx.nn, 'named', {{}})\neqx.nn.named.setdefault('by', {0})"
SINGLE = """
jax.nn.of_kind = getattr(jax.nn, "of_kind", functools.singledispatch(lambda y: y))
if list not in jax.nn.of_kind.registry:
    jax.nn.of_kind.register(list, lambda y: {0} * y[0])
"""
ENTER = "contextlib.ExitStack().enter_context({0})"
WRITTEN = "(log.append(x), x)[1]"
CLOSURE = "(x, lambda z: z + jax.nn.relu(x))"

# Each pair differs in one thing; both have another of another kind.
DIFFER: dict[str, tuple[Text, Text]] = {
    # constructors that are patched
    "a constructor of equinox, and a list": (Text(INIT.format(1.0), out=WRITTEN), Text(INIT.format(2.0), out=WRITTEN)),
    "an initializer, and what is returned": (
        Text(FULL.format(1.0), "jax.nn.initializers.ones(key, (3,))", "y * self.more", CLOSURE),
        Text(FULL.format(2.0), "jax.nn.initializers.ones(key, (3,))", "y * self.more", CLOSURE),
    ),
    "what draws, and a key": (
        Text(UNIFORM.format(1), "jax.random.uniform(jax.random.fold_in(key, 1), (3,))", "y * self.more"),
        Text(UNIFORM.format(2), "jax.random.uniform(jax.random.fold_in(key, 1), (3,))", "y * self.more"),
    ),
    # registries
    "a list of hooks, and a print": (
        Text(HOOKS.format(1.0), body="(jax.debug.print('{}', y), jnp.hooks[0](y))[1]"),
        Text(HOOKS.format(2.0), body="(jax.debug.print('{}', y), jnp.hooks[0](y))[1]"),
    ),
    "names, and a module": (
        Text(NAMED.format(1.0), "Inner(jnp.ones(3))", "y * self.more.held * eqx.nn.named['by']"),
        Text(NAMED.format(2.0), "Inner(jnp.ones(3))", "y * self.more.held * eqx.nn.named['by']"),
    ),
    "a function of kinds, and a list": (
        Text(SINGLE.format(1.0), body="jax.nn.of_kind([y])", out=WRITTEN),
        Text(SINGLE.format(2.0), body="jax.nn.of_kind([y])", out=WRITTEN),
    ),
    # contexts that are entered
    "float64, and an array of NumPy": (
        Text(body="y * np.float64(1.5)"),
        Text(ENTER.format("jax.enable_x64(True)"), body="y * np.float64(1.5)"),
    ),
    "another kind of keys, and what is returned": (
        Text(more="jax.random.normal(jax.random.key(3), (3,))", body="y + self.more", out="(x, jax.random.key(1))"),
        Text(
            ENTER.format("jax.default_prng_impl('rbg')"),
            "jax.random.normal(jax.random.key(3), (3,))",
            "y + self.more",
            "(x, jax.random.key(1))",
        ),
    ),
    "precision, and a list": (
        Text(out=WRITTEN),
        Text(ENTER.format("jax.default_matmul_precision('highest')"), out=WRITTEN),
    ),
    # what is trained
    "a buffer in a module": (
        Text(more="Inner(np.ones(3))", body="y + self.more.held"),
        Text(more="Inner(jnp.ones(3))", body="y + self.more.held"),
    ),
    "a buffer in a list, and a list": (
        Text(more="[np.ones(3, np.float32)]", body="y + self.more[0]", out=WRITTEN),
        Text(more="[jnp.ones(3)]", body="y + self.more[0]", out=WRITTEN),
    ),
    "a buffer of integers": (
        Text(more="np.arange(3, dtype=np.int32)", body="y + self.more"),
        Text(more="jnp.arange(3)", body="y + self.more"),
    ),
    # constructors that do not read their key
    "a key of its own, and a patch": (
        Text(FULL.format(1.5), "jax.random.normal(key, (3,)) * jax.nn.initializers.ones(key, (3,))", "y + self.more"),
        Text(
            FULL.format(1.5),
            "jax.random.normal(jax.random.split(jax.random.key(0), 2)[0], (3,)) * jax.nn.initializers.ones(key, (3,))",
            "y + self.more",
        ),
    ),
}
SAME: dict[str, tuple[Text, Text]] = {
    "an initializer": (
        Text(FULL.format(1.5), "jax.nn.initializers.ones(key, (3,))", "y * self.more"),
        Text(FULL.format("3 / 2"), "jax.nn.initializers.ones(key, (3,))", "self.more * y"),
    ),
    "names and a list": (
        Text(NAMED.format(1.5), body="y * eqx.nn.named['by']", out=WRITTEN),
        Text(NAMED.format(1.5), body="eqx.nn.named['by'] * y", out=WRITTEN),
    ),
    "a context": (Text(ENTER.format("jax.enable_x64(True)")), Text(ENTER.format("jax.enable_x64(True)"))),
}


# The suite takes one pair of each kind.
MORE = [name for at, name in enumerate(DIFFER) if at % 3]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, CaseResult]:
    left = () if request.config.getoption("--whole") else MORE
    pairs = {
        f"{kind} {name}": pair
        for kind, some in (("differ", DIFFER), ("same", SAME))
        for name, pair in some.items()
        if name not in left
    }
    texts = {name: (str(one), str(two), CASES) for name, (one, two) in pairs.items()}
    answers: dict[str, Response] = compared(tmp_path_factory.mktemp("pairs"), texts)
    return {name: each.results[0] for name, each in answers.items()}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.whole] * (name in MORE)) for name in DIFFER])
def test_what_differs_is_seen_beside_what_does_not(found: dict[str, CaseResult], name: str) -> None:
    result = found[f"differ {name}"]
    assert not result.good, result
    assert result.error is None or "internal error" not in result.error


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_differ_is_proved(found: dict[str, CaseResult], name: str) -> None:
    result = found[f"same {name}"]
    assert result.error is None and proved(result), result
