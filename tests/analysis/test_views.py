"""Local names for lists of layers: what they stand for is walked as it is when the loop begins."""

import pytest
from helpers import decide, model, only

from scanify.analysis.plan import Holds, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack

INIT = """\
self.layers = [Block(8, key=k) for k in jr.split(key, depth)]
self.others = [Other() for _ in range(depth)]
"""
LOOP = "for layer in layers:\n    x = layer(x)"


def text_of(before: str, loop: str = LOOP, init: str = INIT) -> str:
    return model(loop, init=init, before=before).replace(
        "    norm: eqx.nn", "    others: list[Other]\n    norm: eqx.nn"
    )


@pytest.mark.parametrize(
    "before",
    [
        "layers = reversed(self.layers) if mask else self.layers",
        "layers = self.layers[1:]",
        "layers = list(self.layers)",
        "layers = list(self.layers)\nlayers.append(mask)",
        "layers = self.layers[1:]\nlayers[0] = mask",
        "layers = self.layers if mask else self.others",
    ],
)
def test_a_choice_or_a_part_of_a_list_is_left_to_evidence(before):
    found = only(text_of(before))
    assert isinstance(found, Refusal) and found.undecided is not None


def test_another_name_for_the_list_is_the_list():
    plan = only(text_of("layers = self.layers"))
    assert isinstance(plan, Plan)
    assert (plan.container, plan.holds) == ("layers", Holds.ARRAY_STACKED)
    assert isinstance(plan.stack, InitStack)


@pytest.mark.parametrize(
    ("after", "holds"),
    [
        ("", Holds.ARRAY_STACKED),
        ("def grow(self):\n        self.layers.append(Other())\n", Holds.BLOCK_SEQ),
        ("def swap(self, layers):\n        object.__setattr__(self, 'layers', layers)\n", Holds.BLOCK_SEQ),
    ],
)
@pytest.mark.parametrize("before", ["", "layers = self.layers"])
def test_another_name_is_held_in_the_call_as_the_list_itself_is(before, after, holds):
    loop = LOOP if before else LOOP.replace("in layers", "in self.layers")
    text = text_of(before, loop) + (f"\n    {after}" if after else "")
    plan = only(text, stack="call")
    assert isinstance(plan, Plan) and plan.holds is holds


@pytest.mark.parametrize("after", ["self.layers.append(Other())", "self.layers[0] = x", "Other.hold(self.layers)"])
def test_what_others_put_into_a_list_is_under_its_other_name_too(after):
    text = text_of("layers = self.layers") + f"\n    def grow(self, x):\n        {after}\n"
    plan = only(text)
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)
    assert (plan.holds, plan.safe, plan.call and plan.call.owner) == (Holds.BLOCK_SEQ, False, None)


def test_a_list_that_no_field_holds_is_stacked_in_the_call():
    plan = only(text_of("layers = [Block(8, key=k) for k in keys]"))
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack) and plan.holds is Holds.ARRAY_STACKED


@pytest.mark.parametrize(
    "before",
    [
        "layers = self.layers if mask else mask",
        "layers = [self.layers[0], mask] if mask else self.layers",
    ],
)
def test_a_list_that_is_not_shown_is_left_alone(before):
    assert not any(isinstance(one, Plan) for one in decide(text_of(before)))


def test_an_iterator_has_no_length():
    counted = "for i, layer in enumerate(layers):\n    x = layer(x) * i"
    found = only(text_of("layers = reversed(self.layers) if mask else self.layers", counted))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN213"


@pytest.mark.parametrize(
    "loop",
    [
        "for t in keys:\n    for layer, k in zip(layers, keys):\n        x = layer(x, key=k)",
        "for layer, k in zip(layers, keys):\n    x = layer(x, key=k)\nfor layer in layers:\n    x = layer(x)",
    ],
)
def test_an_iterator_of_which_nothing_may_be_left(loop):
    found = decide(text_of("layers = reversed(self.layers) if mask else self.layers", loop))
    assert any(isinstance(one, Refusal) and "may be an iterator" in one.reason for one in found), found


def test_modules_that_may_be_none():
    text = text_of("pass", "if self.inner is not None:\n    for layer in self.inner.layers:\n        x = layer(x)")
    inner = "class Inner(eqx.Module):\n    layers: list[Block]\n\n\nclass Model(eqx.Module):\n    inner: Inner | None\n"
    plan = only(text.replace("class Model(eqx.Module):\n", inner))
    assert isinstance(plan, Plan), plan
    assert plan.container == "self.inner.layers"
    choice = "self.inner = Inner([Block(8, key=k) for k in jr.split(key, depth)]) if depth else None"
    plan = only(text.replace("class Model(eqx.Module):\n", inner).replace(INIT.splitlines()[0], choice))
    assert isinstance(plan, Plan), plan


def test_the_arguments_of_a_constructor_are_the_callers():
    text = text_of("pass", LOOP.replace("layers:", "self.layers:"))
    text = text.replace("def __init__(self, depth, *, key):", "def __init__(self, *layers, depth=3, key=None):")
    plan = only(text.replace(INIT.splitlines()[0], "self.layers = tuple(layers)"))
    assert isinstance(plan, Plan), plan
    assert isinstance(plan.stack, CallStack)
