"""Lists that the project passes to a class or a function: their callers may compose them of anything."""

from textwrap import dedent

import pytest
from helpers import PRELUDE, decide, only

from scanify.analysis.plan import Holds, Plan, Refusal
from scanify.analysis.stack import CallStack

HEAD = PRELUDE.partition("class Model")[0]
CALL = """\

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
MANY = "[Block(8, key=k) for k in jr.split(key, depth)]"
INIT = """\

    @staticmethod
    def init(depth, *, key):
        layers = [Block(8, key=k) for k in jr.split(key, depth)]
        return Model(eqx.nn.LayerNorm(8), layers)
"""
FIELDS = "class Model(eqx.Module):\n    norm: eqx.nn.LayerNorm\n    layers: list\n"


def found(*parts: str, **given) -> Plan | Refusal:
    return only(HEAD + "".join(parts), **given)


def build(*calls: str) -> str:
    return dedent("\n\ndef build(depth, norm, key):\n    return " + ", ".join(calls) + "\n")


COPIED = """\
class Model(eqx.Module):
    layers: tuple{of}

    def __init__(self, layers):
        self.layers = tuple(layers)

    def rest(self):
        return Model(self.layers[1:])
"""


@pytest.mark.parametrize(
    ("base", "listed"),
    [
        ("hax.nn.ModuleWithState", True),
        ("flax.linen.Module", False),
    ],
)
def test_a_module_of_another_package_is_known_by_its_name(base, listed):
    text = (
        f"import flax\nimport haliax as hax\nimport torch\n{HEAD}class Model({base}):\n    layers: list[Block]\n{CALL}"
    )
    assert bool([one for one in decide(text) if isinstance(one, Plan)]) is listed
    assert not decide(text.replace("import equinox as eqx", "import optax as eqx").replace("list[Block]", "list"))


LOUD = (
    "seen = []\n\n\nclass Loud(eqx.Module):\n    def __call__(self, x):\n        seen.append(x)\n        return x\n\n\n"
)
BUILDER = "\n    def __init__(self, depth, *, key):\n        self.layers = self.build(depth, key)\n\n    def build(self, depth, key):\n        return [Block(8, key=k) for k in jr.split(key, depth)]\n"
SUPER = "\n    def __init__(self, layers):\n        self.layers = layers\n"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((FIELDS, INIT, CALL), id="its own static method"),
        pytest.param((FIELDS, CALL, build(f"Model(norm, {MANY})")), id="a function"),
        pytest.param((FIELDS, CALL, build("Model(norm, [Block(8, key=key), Other(), load()])")), id="several classes"),
        pytest.param((FIELDS, CALL, build("Model(norm, load(key))")), id="what is not shown"),
        pytest.param((LOUD, FIELDS, CALL, build("Model(norm, [Loud() for _ in range(depth)])")), id="a side effect"),
        pytest.param((FIELDS, CALL, build("Model(norm, [key.first, key.first, key.last])")), id="one object twice"),
        pytest.param((FIELDS, INIT, CALL, "\n\nclass Heir(Model):\n    pass\n\n\nh = Heir(None, load())\n"), id="an heir"),
        pytest.param((FIELDS, INIT, CALL, "\n    def grow(self, more):\n        self.layers.append(more)\n"), id="it grows"),
        pytest.param((FIELDS, INIT.replace("return Model(", "m = Model(") + "        layers.append(m)\n", CALL), id="it grows once it is passed"),
        pytest.param((FIELDS, BUILDER, CALL, "\n\nclass Heir(Model):\n    def build(self, depth, key):\n        return load(depth)\n"), id="an heir's builder"),
        pytest.param((FIELDS, SUPER, CALL, f"\n\nclass Sub(Model):\n    def __init__(self, depth, key):\n        super().__init__({MANY})\n"), id="a subclass"),
    ],
)  # fmt: skip
def test_what_is_passed_to_a_class_is_left_to_evidence(parts):
    refusal = found(*parts)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.rule in ("SCN201", "SCN215") and refusal.undecided is not None
    assert refusal.undecided.holds is Holds.BLOCK_SEQ


@pytest.mark.parametrize("calls", [f"run({MANY}, 1)", "run([Block(8, key=key), Other(), load()], 1)", "register(run)"])
def test_what_is_passed_to_a_function_is_left_to_evidence(calls):
    run = "def run(layers, x):\n    for layer in layers:\n        x = layer(x)\n    return x\n"
    (refusal,) = decide(f"{HEAD}{run}\n\ndef use(depth, key):\n    return {calls}\n")
    assert isinstance(refusal, Refusal) and refusal.rule == "SCN215"
    assert refusal.undecided is not None and isinstance(refusal.undecided.stack, CallStack)


def test_a_tuple_that_is_said_to_hold_one_class_is_stacked_in_the_call():
    copied = "class Model(eqx.Module):\n    layers: tuple[Block, ...]\n\n    def __init__(self, layers):\n        self.layers = tuple(layers)\n"
    plan = found(copied, CALL)
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)
    assert (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, True)
