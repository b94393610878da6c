"""Functions that ask jax how their operands are transformed, or keep arrays: a scan answers otherwise than a loop."""

import pytest

from scanify.analysis.plan import Plan
from tests.analysis.helpers import PRELUDE, only
from tests.texts import texts

LAYER = """\
class Layer(eqx.Module):
    weight: jax.Array

    def __call__(self, x):
        return self.weight @ centre(x)


class Net(eqx.Module):
    layers: list

    def __init__(self, depth, *, key):
        self.layers = [Layer(jr.normal(k, (4, 4))) for k in jr.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
HEAD = PRELUDE.partition("class Block")[0]
RULE = "def rule(size, batched, x):\n    return x, batched[0]\n"


def obligations(centre: str) -> tuple[str, ...]:
    found = only(f"{HEAD}{centre}\n\n{LAYER}")
    assert isinstance(found, Plan), found
    return texts(found.obligations)


@pytest.mark.parametrize(
    "centre",
    [
        f"@jax.custom_batching.custom_vmap\ndef centre(x):\n    return x\n\n\n@centre.def_vmap\n{RULE}",
        f"def plain(x):\n    return x\n\n\ncentre = jax.custom_batching.custom_vmap(plain)\n{RULE}centre.def_vmap(rule)\n",
        (
            "@jax.custom_jvp\ndef centre(x):\n    return x\n\n\ndef rule(primals, tangents):\n    return primals[0], tangents[0]"
            "\n\n\ncentre.defjvp(rule, symbolic_zeros=True)\n"
        ),
        (
            "@jax.custom_jvp\ndef centre(x):\n    return x\n\n\n@functools.partial(centre.defjvp, symbolic_zeros=True)\n"
            "def rule(primals, tangents):\n    return primals[0], tangents[0]\n"
        ),
        "@jax.custom_vjp\ndef centre(x):\n    return x\n\n\ncentre.defvjp(forward, backward, symbolic_zeros=zeros)\n",
        (
            "@eqx.filter_custom_vjp\ndef centre(x):\n    return x\n\n\n@centre.def_fwd\ndef forward(perturbed, x):\n"
            "    return x, perturbed\n\n\n@centre.def_bwd\ndef backward(kept, g, perturbed, x):\n    return g\n"
        ),
        (
            "@eqx.filter_custom_vjp\ndef centre(x):\n    return x\n\n\ndef forward(perturbed, x):\n    return x, perturbed\n\n\n"
            "centre.def_fwd(forward)\n"
        ),
    ],
)
def test_rules_that_ask_what_is_differentiated_or_batched_are_not_understood(centre: str) -> None:
    """They run once for each layer, and once for all of them under a scan, where more is differentiated."""
    assert obligations(centre)


@pytest.mark.parametrize(
    "centre",
    [
        "def centre(x):\n    return x\n",
        (
            "@jax.custom_vjp\ndef centre(x):\n    return x\n\n\ndef forward(x):\n    return x, None\n\n\n"
            "def backward(kept, g):\n    return (g,)\n\n\ncentre.defvjp(forward, backward, symbolic_zeros=False)\n"
        ),
        (
            "@eqx.filter_custom_vjp\ndef centre(x):\n    return x\n\n\n@centre.def_fwd\ndef forward(perturbed, x):\n"
            "    return x, None\n\n\n@centre.def_bwd\ndef backward(kept, g, perturbed, x):\n    return g\n"
        ),
    ],
)
def test_rules_of_derivatives_are_not_understood(centre: str) -> None:
    assert bool(obligations(centre)) == ("custom_vjp" in centre)


@pytest.mark.parametrize("effect", ["SEEN.append(g)", "print(g)"])
def test_what_a_rule_does_to_others_is_an_effect(effect: str) -> None:
    centre = (
        "SEEN = []\n\n\n@jax.custom_vjp\ndef centre(x):\n    return x\n\n\ndef forward(x):\n    return x, None\n\n\n"
        f"def backward(kept, g):\n    {effect}\n    return (g,)\n\n\ncentre.defvjp(forward, backward)\n"
    )
    assert obligations(centre)


@pytest.mark.parametrize(
    "cache", ["@functools.lru_cache\n", "@functools.cache\n", "@functools.lru_cache(maxsize=None)\n"]
)
@pytest.mark.parametrize("made", ["jnp.tanh(x)", "x"])
def test_what_a_function_keeps_are_tracers_of_a_scan(cache: str, made: str) -> None:
    text = f"{cache}def centre(x):\n    return {made}\n"
    assert obligations(text) and not obligations(text.removeprefix(cache))


PASSED = """\
class Keys:
    def __init__(self, key):
        self.key = key

    def {method}(self):
        {does}
        return self.key


class Noisy(eqx.Module):
    weight: jax.Array

    def __call__(self, x, rng):
        return self.weight @ x + jr.normal(rng.{method}(), x.shape)


class Net(eqx.Module):
    layers: list

    def __init__(self, depth, *, key):
        self.layers = [Noisy(jr.normal(k, (4, 4))) for k in jr.split(key, depth)]

    def __call__(self, x, rng):
        for layer in self.layers:
            x = layer(x, rng)
        return x
"""


@pytest.mark.parametrize("method", ["take", "split", "get"])
@pytest.mark.parametrize("does", ["self.key, _ = jr.split(self.key)", "self.key += 1", "key = self.key"])
def test_an_argument_may_be_an_object_of_the_project(method: str, does: str) -> None:
    found = only(HEAD + PASSED.format(method=method, does=does))
    assert isinstance(found, Plan) and found.obligations
    assert all(each.startswith(f"`rng.{method}()` is not understood: ") for each in texts(found.obligations))
