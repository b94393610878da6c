"""Layers that are made of other modules, which a list holds: each of its own, or several of one and the same."""

import pytest
from helpers import PRELUDE, decide, only

from scanify.analysis.plan import Holds, Plan, Refusal

HEAD = PRELUDE[: PRELUDE.index("class Model")]
PARTS = """\
class Part(eqx.Module):
    w: jax.Array
    rate: float

    def __init__(self, d, rate, key):
        self.w = jr.normal(key, (d,))
        self.rate = rate


class Layer(eqx.Module):
    part: Part

    def __init__(self, part):
        self.part = part

    def __call__(self, x):
        return x * self.part.w


"""
APPLY = "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
EACH = "parts = [Part(d, 1.0, k) for k in jr.split(key, n)]"


def decided(parts: str, layers: str) -> Plan | Refusal:
    lines = "".join(f"        {line}\n" for line in (*parts.splitlines(), f"self.layers = {layers}"))
    return only(
        f"{HEAD}{PARTS}class Net(eqx.Module):\n    layers: list\n\n    def __init__(self, d, n, key, given: list[Part]):\n{lines}\n{APPLY}"
    )


@pytest.mark.parametrize(
    ("parts", "layers", "holds"),
    [
        (EACH, "[Layer(part) for part in parts]", Holds.BLOCK_SEQ),
        (EACH, "[Layer(part) for part, _ in zip(parts, range(n))]", Holds.BLOCK_SEQ),
        (EACH, "[Layer(part) for part in reversed(parts)]", Holds.BLOCK_SEQ),
        ("parts = []\nfor k in jr.split(key, n):\n    parts.append(Part(d, 1.0, k))", "[Layer(part) for part in parts]", Holds.BLOCK_SEQ),
        ("parts = [Part(d, 0.1 * i, key) for i in range(n)]", "[Layer(part) for part in parts]", Holds.BLOCK_SEQ),
        ("parts = given", "[Layer(part) for part in parts]", Holds.BLOCK_SEQ),
    ],
)  # fmt: skip
def test_each_layer_is_made_of_a_part_of_its_own(parts, layers, holds):
    found = decided(parts, layers)
    assert isinstance(found, Plan), found
    assert found.holds is holds


@pytest.mark.parametrize(
    ("parts", "layers"),
    [
        ("part = Part(d, 1.0, key)", "[Layer(part) for _ in range(n)]"),
        ("parts = [Part(d, 1.0, key)] * n", "[Layer(part) for part in parts]"),
        ("one = Part(d, 1.0, key)\nparts = [one for _ in range(n)]", "[Layer(part) for part in parts]"),
        ("one = Part(d, 1.0, key)\nparts = [one, one, one]", "[Layer(part) for part in parts]"),
        (EACH, "[Layer(part) for part in (*parts, *parts)]"),
        (EACH, "[Layer(part) for part in parts for _ in range(2)]"),
        (EACH, "[Layer(parts[i // 2]) for i in range(2 * n)]"),
        (EACH, "[Layer(parts[i % 2]) for i in range(n)]"),
    ],
)
def test_layers_that_may_hold_one_object_are_no_stack(parts, layers):
    found = decided(parts, layers)
    assert isinstance(found, Refusal) or not found.safe, found


BASED = """\
import numpyro.distributions


class Normal(numpyro.distributions.Distribution):
    def __init__(self, x):
        self.x = x
        super().__init__(BEFORE)


class Asked(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(8, 8, key=key)

    def __call__(self, x):
        return Normal(self.linear(x)).x


class Net(eqx.Module):
    layers: list[Asked]

    def __init__(self, depth, key):
        self.layers = [Asked(k) for k in jr.split(key, depth)]

"""


def test_what_another_package_makes_of_a_new_object_is_an_obligation():
    found = only(HEAD + BASED.replace("BEFORE", "x") + APPLY)
    assert isinstance(found, Plan)
    assert not found.safe


def test_what_it_makes_of_the_layer_itself_is_no_new_object():
    text = BASED.replace("BEFORE", "x").replace("return Normal(self.linear(x)).x", "return self.again(x)")
    text = text.replace("class Asked(eqx.Module)", "class Asked(numpyro.Module)")
    again = "    def again(self, x):\n        super().__init__(x)\n        return x\n\n\nclass Net"
    found = decide(HEAD + text.replace("\nclass Net", again, 1) + APPLY)
    assert not any(isinstance(each, Plan) and each.safe for each in found)


CALLER = """\
class Chain(eqx.Module):
    layers: tuple

    def __init__(self, *layers):
        self.layers = tuple(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Nested(eqx.Module):
    layers: list

    def __init__(self, layers):
        self.layers = []
        for layer in layers:
            if isinstance(layer, Nested):
                self.layers.extend(layer.layers)
            else:
                self.layers.append(layer)

    def __call__(self, x):
        return sum([layer(x) for layer in self.layers])


"""


@pytest.mark.parametrize(
    "callers",
    [
        "def make(key, rest):\n    return Chain(Block(8, key=key), Other(), eqx.nn.LayerNorm(8), *rest)\n",
        "def make(key):\n    return Chain(Block(8, key=key), Other())\n\n\ndef read(rest):\n    return Chain(*rest)\n",
    ],
)
def test_a_chain_of_several_classes_from_its_callers_is_no_stack(callers):
    found = [each for each in decide(HEAD + CALLER + callers) if each.container == "self.layers" and each.carry]
    assert found and all(isinstance(each, Refusal) and each.rule in ("SCN202", "SCN215") for each in found), found


SETTINGS = """\
class Rope(eqx.Module):
    BASE
    dim: int = eqx.field(static=True)

    def __init__(self, dim):
        self.dim = dim
        MORE

    def __call__(self, x):
        return x * jnp.arange(self.dim)


HEIR
class Turned(eqx.Module):
    linear: eqx.nn.Linear
    rope: Rope

    def __init__(self, d, rope, key):
        self.linear = eqx.nn.Linear(d, d, key=key)
        self.rope = rope

    def __call__(self, x):
        return self.rope(self.linear(x))


class Net(eqx.Module):
    layers: list[Turned]

    def __init__(self, d, n, key, rope: Rope):
        rope = Rope(d)
        self.layers = [Turned(d, rope, k) for k in jr.split(key, n)]

"""


def settings(
    base: str = "base: float = eqx.field(static=True, default=1.0)", more: str = "pass", heir: str = ""
) -> str:
    return HEAD + SETTINGS.replace("BASE", base).replace("MORE", more).replace("HEIR", heir) + APPLY


@pytest.mark.parametrize("made", ["rope = Rope(d)", "pass"])
def test_one_module_that_holds_nothing_but_settings_may_be_in_all_layers(made):
    found = only(settings().replace("rope = Rope(d)", made))
    assert isinstance(found, Plan) and (found.safe, found.holds) == (True, Holds.ARRAY_STACKED), found


@pytest.mark.parametrize(
    "given",
    [
        {"base": "base: jax.Array", "more": "self.base = jnp.ones(dim)"},
        {"base": "base: float", "more": "self.base = 1.0"},
        {"base": "base: Part", "more": "self.base = Part()"},
        {"heir": "class Learned(Rope):\n    scale: jax.Array\n\n"},
    ],
)
def test_one_module_that_may_hold_arrays_is_refused(given):
    found = only(settings(**given))
    assert isinstance(found, Refusal) and found.rule == "SCN204", found
