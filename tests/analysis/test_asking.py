"""Functions that ask jax how their operands are transformed, or keep arrays: a scan answers otherwise than a loop."""

import pytest

from scanify.analysis.plan import Plan
from tests.analysis.helpers import PRELUDE, only

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
KEEPS = "the arrays that `centre` keeps are of no use behind the loop, where they are tracers of a scan"


def obligations(centre: str) -> tuple[str, ...]:
    found = only(f"{HEAD}{centre}\n\n{LAYER}")
    assert isinstance(found, Plan), found
    return found.obligations


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
        "@jax.custom_jvp\ndef centre(x):\n    return x\n\n\ncentre.defjvp(rule)\n",
        "@jax.custom_vjp\ndef centre(x):\n    return x\n\n\ncentre.defvjp(forward, backward, symbolic_zeros=False)\n",
        (
            "@jax.custom_jvp\ndef centre(x):\n    return x\n\n\n@jax.custom_jvp\ndef other(x):\n    return x\n\n\n"
            "other.defjvp(rule, symbolic_zeros=True)\n"
        ),
        (
            "@eqx.filter_custom_vjp\ndef centre(x):\n    return x\n\n\n@centre.def_fwd\ndef forward(perturbed, x):\n"
            "    return x, None\n\n\n@centre.def_bwd\ndef backward(kept, g, perturbed, x):\n    return g\n"
        ),
    ],
)
def test_rules_of_derivatives_may_do_anything(centre: str) -> None:
    """They run as often as there are layers, and once under a scan."""
    named = "plain" if "plain" in centre else "centre"
    (said,) = obligations(centre)
    assert said.startswith(f"`the rules of {named}` is not understood: ")


def test_a_function_without_rules_asks_nothing() -> None:
    assert obligations("def centre(x):\n    return x\n") == ()


@pytest.mark.parametrize(
    "cache", ["@functools.lru_cache\n", "@functools.cache\n", "@functools.lru_cache(maxsize=None)\n"]
)
@pytest.mark.parametrize("made", ["jnp.ones(4)", "(jnp.ones(4), 1)", "[jnp.ones(4)][0]", "unknown(4)"])
def test_arrays_of_a_scan_that_a_function_keeps_are_tracers(cache: str, made: str) -> None:
    text = f"{cache}def centre(x):\n    return {made}\n"
    assert KEEPS in obligations(text)
    assert KEEPS not in obligations(text.removeprefix(cache))


@pytest.mark.parametrize("made", ["np.ones(4)", "4", "(1, 'a', None)", "[np.ones(4), 2]"])
def test_what_is_no_array_of_jax_may_be_kept(made: str) -> None:
    assert KEEPS not in obligations(f"@functools.lru_cache\ndef centre(x):\n    return {made}\n")


COUNTED = """\
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

    def __call__(self, x, {name}):
        for layer in self.layers:
            x = layer(x, {name})
        return x
"""


@pytest.mark.parametrize("name", ["rng", "keys", "given"])
@pytest.mark.parametrize("method", ["take", "split", "get"])
@pytest.mark.parametrize("does", ["self.key, _ = jr.split(self.key)", "self.key += 1", "self.keys[0] = 1"])
def test_what_is_not_shown_may_be_an_object_of_the_project_whatever_else_has_such_a_method(
    name: str, method: str, does: str
) -> None:
    found = only(HEAD + COUNTED.format(name=name, method=method, does=does))
    assert isinstance(found, Plan)
    assert any(
        each.startswith(f"`rng.{method}()` is not understood: `rng` has no annotation ") for each in found.obligations
    )
    plain = only(HEAD + COUNTED.format(name=name, method=method, does="key = self.key"))
    assert isinstance(plain, Plan) and plain.obligations == found.obligations
