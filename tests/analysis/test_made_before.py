"""Containers that code before an iteration makes: an iteration must not change them, whatever function holds them."""

import pytest
from helpers import INIT, decide, model, only

from scanify.analysis.plan import Plan, Refusal
from tests.texts import texts

COUNTED = """\
def counted(f):
    calls = []
    def count(x):
        calls.append(1)
        return f(x) * len(calls)
    return count


"""
NORM = "    norm: eqx.nn.LayerNorm\n"
APPLY = "for layer in self.layers:\n    x = {}(layer(x))"


@pytest.mark.parametrize(
    ("function", "before"),
    [
        ("kept", "@counted\ndef kept(x):\n    return x\n\n\nclass Model"),
        ("kept", "kept = counted(helper)\n\n\nclass Model"),
        ("kept", "def kept(x, f=counted(helper)):\n    return f(x)\n\n\nclass Model"),
        ("Kept.apply", "class Kept:\n    apply = staticmethod(counted(helper))\n\n\nclass Model"),
    ],
    ids=["a decorator", "a constant", "a default", "a constant of a class"],
)
def test_a_function_that_counts_is_not_safe(function: str, before: str) -> None:
    text = model(APPLY.format(function)).replace("class Model", COUNTED + before)
    assert not any(isinstance(found, Plan) and found.safe for found in decide(text))


def test_a_field_that_holds_a_function_that_counts_is_not_safe() -> None:
    text = model(APPLY.format("self.count"), init=f"{INIT}\nself.count = counted(helper)")
    text = text.replace("class Model", f"{COUNTED}class Model").replace(NORM, f"{NORM}    count: object\n")
    assert not any(isinstance(found, Plan) and found.safe for found in decide(text))


def test_a_local_function_that_counts_is_not_safe() -> None:
    text = model(APPLY.format("count"), before="count = counted(helper)").replace(
        "class Model", f"{COUNTED}class Model"
    )
    assert not any(isinstance(found, Plan) and found.safe for found in decide(text))


def test_what_an_iteration_makes_may_change_in_it() -> None:
    helper = "def doubled(x):\n    parts = []\n    parts.append(x)\n    return parts[0] * 2\n\n\nclass Model"
    assert only(model(APPLY.format("doubled")).replace("class Model", helper)).safe


STAGES = """\
self.layers = []
for _ in range(depth):
    stage = []
    for k in jr.split(key, 3):
        stage.append(Block(8, key=k))
    self.layers.append(stage)
"""
OVER_STAGES = "for stage in self.layers:\n    for layer in stage:\n        x = layer(x)"


def test_a_list_of_lists_is_left_to_evidence() -> None:
    text = model(OVER_STAGES, init=STAGES).replace("layers: list[Block]", "layers: list[list[Block]]")
    outer, _ = decide(text)
    assert isinstance(outer, Refusal) and outer.undecided is not None


def test_what_one_of_them_gets_each_may_have() -> None:
    noisy = "class Noisy(eqx.Module):\n    def __call__(self, x):\n        print(x)\n        return x\n\n\nclass Model"
    text = model(OVER_STAGES, init=f"{STAGES}self.layers[0].append(Noisy())\n").replace("class Model", noisy)
    text = text.replace("layers: list[Block]", "layers: list")
    assert not any(isinstance(found, Plan) and found.safe for found in decide(text))


@pytest.mark.parametrize(
    "update",
    [
        "jnp.concatenate([x, layer(x)])",
        "layer(x)[::2]",
    ],
)
def test_a_carry_that_grows_or_shrinks_is_for_a_case(update: str) -> None:
    found = only(model(f"for layer in self.layers:\n    x = {update}"))
    assert isinstance(found, Plan) and "keeps its shape" in " ".join(texts(found.obligations))


@pytest.mark.parametrize(
    "update",
    [
        "jnp.concatenate([x, layer(x)]).reshape(2, -1).sum(0)",
        "layer(x)[None][0]",
        "layer(jnp.pad(x, 1)[1:-1])",
        "layer.linear(x)[1:]",
    ],
)
def test_one_that_may_have_its_size_again_is_for_a_run(update: str) -> None:
    found = only(model(f"for layer in self.layers:\n    x = {update}"))
    assert isinstance(found, Plan)
