"""What one version does to a library, a registry or a setting reaches its own trace alone, or there is no verdict."""

import pytest

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


class Layer(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = jax.random.normal(key, (3, 3))

    def __call__(self, x):
        return BODY


class Model(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [Layer(k) for k in jax.random.split(key, 2)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
CASES = """
import jax
import jax.numpy as jnp


def case(module):
    return module.Model(jax.random.key(0)), (jnp.arange(3.0) + 0.5,)
"""


def text(top: str = "", body: str = "jnp.tanh(self.w @ x)") -> str:
    return MODEL.replace("TOP", top).replace("BODY", body)


SOFT = "jax.nn.softplus = lambda x: jnp.logaddexp(x, 0.0) * 2"
NORMAL = "_normal = jax.random.normal\njax.random.normal = lambda key, shape: 3 * _normal(key, shape)"
BATCHES = (
    "from jax.interpreters import batching\n"
    "batching.primitive_batchers[jax.lax.tanh_p] = lambda args, dims, **_: (jnp.sin(args[0]), dims[0])"
)
NAMED = "eqx.found = getattr(eqx, 'found', None) or dict()\neqx.found.setdefault('act', {0})"
ENTERED = "contextlib.ExitStack().enter_context(jax.default_matmul_precision('bfloat16'))"
LATER = "(setattr(jnp, 'later', getattr(jnp, 'later', jnp.{0})), jnp.later(self.w @ x))[1]"

# Each pair differs where each version runs alone: the first, the second.
DIFFER = {
    "a function of a library": (text(body="jax.nn.softplus(self.w @ x)"), text(SOFT, "jax.nn.softplus(self.w @ x)")),
    "an initializer": (text(), text(NORMAL)),
    "a rule of jax": (text(), text(BATCHES)),
    "a registry that keeps the first": (
        text(NAMED.format("jax.nn.relu"), "eqx.found['act'](self.w @ x)"),
        text(NAMED.format("jax.nn.gelu"), "eqx.found['act'](self.w @ x)"),
    ),
    "a context": (text(), text(ENTERED)),
    "NumPy": (text(body="x * np.float32(np.sinc(0.5))"), text("np.sinc = np.cos", "x * np.float32(np.sinc(0.5))")),
    "a rule that no batch gets through": (text(), text(BATCHES.replace("**_", "none"))),
    # with what a call returns
    "a function that is returned": (
        text(body="jnp.tanh(x)").replace("return x", "return x, jax.nn.softplus(x)"),
        text(SOFT, "jnp.tanh(x)").replace("return x", "return x, jax.nn.softplus(x)"),
    ),
}
KEYED = CASES.replace("(jnp.arange(3.0) + 0.5,)", "(jnp.arange(3.0) + 0.5, jax.random.key(1), jax.random.PRNGKey(2))")
DROPS = text().replace(
    "(self, x):\n        for", "(self, x, key, old):\n        x = x * jax.random.normal(key, (3,))\n        for"
)
SAME = {
    "the same patch": (text(SOFT, "jax.nn.softplus(self.w @ x)"), text(SOFT, "jax.nn.softplus(self.w @ x)")),
    "the same context": (text(ENTERED), text(ENTERED)),
    "nothing": (text(), text()),
    "an error that is checked for": (
        text(body="eqx.error_if(jnp.tanh(self.w @ x), jnp.isnan(x).any(), 'is NaN')"),
        text(body="eqx.error_if(jnp.tanh(self.w @ x), jnp.isnan(x).any(), 'is NaN')"),
    ),
}


MORE = [*(name for at, name in enumerate(DIFFER) if at % 4), "the same context", "nothing"]  # left to `--whole`
SAMPLED_SAME = [pytest.param(name, marks=[pytest.mark.whole] * (name in MORE)) for name in SAME]
SET = text(body=LATER.format("sin")), text(body=LATER.format("cos"))
NEEDS = text("eqx.shared = jax.nn.relu", "eqx.shared(self.w @ x)"), text("", "eqx.shared(self.w @ x)")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, CaseResult]:
    left = () if request.config.getoption("--whole") else MORE
    pairs = {name: (*pair, CASES) for name, pair in (DIFFER | SAME).items() if name not in left}
    pairs["with keys"] = (DROPS, DROPS, KEYED)
    pairs["needs the other"] = (*NEEDS, CASES)
    pairs["a name that is set when it is called"] = (*SET, CASES)
    return {name: each.results[0] for name, each in compared(tmp_path_factory.mktemp("pairs"), pairs).items()}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.whole] * (name in MORE)) for name in DIFFER])
def test_versions_that_differ_where_they_are_alone_have_no_verdict(found: dict[str, CaseResult], name: str) -> None:
    result = found[name]
    assert not result.good, result
    assert result.error is not None and "alone in a process, without the other version" in result.error


@pytest.mark.parametrize("name", [*SAMPLED_SAME, "with keys"])
def test_what_both_do_alike_is_proved(found: dict[str, CaseResult], name: str) -> None:
    assert found[name].error is None and proved(found[name])


def test_a_version_that_needs_the_other_one_is_found(found: dict[str, CaseResult]) -> None:
    error = found["needs the other"].error
    assert error is not None
    assert "the rewritten version alone in a process, without the other version, raised" in error


def test_what_a_call_sets_is_what_the_other_version_does_not_find(found: dict[str, CaseResult]) -> None:
    result = found["a name that is set when it is called"]
    assert not result.good and result.error is None
    reason = result.policies[0].outputs.reason
    assert "['later']" in reason and "sin in the original, cos in the rewritten version" in reason
