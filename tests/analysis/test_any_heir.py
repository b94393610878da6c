"""Lists of which only a class is declared that several others inherit from: nothing shows three layers of one class."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan, Refusal

CLASSES = """\
import equinox as eqx
import jax
import jax.random as jr


class Callback(eqx.Module):
    def step(self, x, key=None):
        raise NotImplementedError


class Counts(Callback):
    scale: jax.Array

    def __init__(self, key):
        self.scale = jr.normal(key, ())

    def step(self, x, key=None):
        return x * self.scale


class Stops(Callback):
    def step(self, x, key=None):
        return x


class Callbacks(Callback):
    callbacks: list[Callback]

    def __init__(self, callbacks: list[Callback]):
        self.callbacks = callbacks

    def step(self, x, key=None):
        for callback, k in zip(self.callbacks, jr.split(key, len(self.callbacks))):
            x = callback.step(x, k)
        return x


def one(kind: str, key) -> Callback:
    return Counts(key) if kind == "counts" else Stops()


"""
RUN = "def run(x, key, callback: Callback | list[Callback] | None, kinds, others):\n    return CALL.step(x, key)\n"

CALLS = {
    "one class many times": "Callbacks([Counts(k) for k in jr.split(key, 6)])",
    "nobody calls it": "x",
    "an empty list": "Callbacks([])",
    "a copy of what a caller gives": "Callbacks(list(callback))",
    "one of them": "Callbacks([callback])",
    "two classes": "Callbacks([Counts(key), Stops(), *callback])",
    "a class picked for each": "Callbacks([one(kind, key) for kind in kinds])",
    "what an unknown call makes of each": "Callbacks([others(kind) for kind in kinds])",
}


def found_in(call: str) -> list[Plan | Refusal]:
    return [each for each in decide(CLASSES + RUN.replace("CALL", call)) if each.container == "self.callbacks"]


@pytest.mark.parametrize("name", CALLS)
def test_what_may_be_of_any_class_below_one_is_left_to_evidence(name: str) -> None:
    found = found_in(CALLS[name])
    assert all(isinstance(each, Refusal) for each in found), found


def test_a_class_with_one_heir_is_as_good_as_that() -> None:
    text = CLASSES.replace("class Stops(Callback)", "class Stops(eqx.Module)").replace(
        "class Callbacks(Callback)", "class Callbacks(eqx.Module)"
    )
    found = [each for each in decide(text) if each.container == "self.callbacks"]
    assert all(isinstance(each, Plan) for each in found) and found


THEN = """\
        raise NotImplementedError

    def then(self, *others):
        return Callbacks([self, *others])
"""


def test_what_a_method_puts_behind_its_object_may_be_of_any_class() -> None:
    call = "Counts(key).then(Stops(), Counts(key), Stops())"
    text = CLASSES.replace("        raise NotImplementedError\n", THEN) + RUN.replace("CALL", call)
    found = [each for each in decide(text) if each.container == "self.callbacks"]
    assert found and all(isinstance(each, Refusal) for each in found)


PARTS = """\
class Held(eqx.Module):
    part: KIND
    name: str = eqx.field(static=True)


class Net(eqx.Module):
    held: tuple[Held, ...]

    def __init__(self, held: list[Held]):
        kept = []
        for each in held:
            kept.append(each)
        self.held = tuple(kept)

    def __call__(self, x):
        for i, each in enumerate(self.held):
            x = APPLY
        return x
"""


@pytest.mark.parametrize(
    ("kind", "apply"), [("Callback", "x + each.part.step(x)"), ("eqx.Module", "each.part.step(x) + i")]
)
def test_a_part_of_each_that_the_loop_applies_may_be_of_any_class(kind, apply):
    for found in decide(CLASSES + PARTS.replace("KIND", kind).replace("APPLY", apply)):
        assert isinstance(found, Refusal) and found.rule in ("SCN201", "SCN215"), found


def test_layers_that_the_caller_spells_out_are_left_to_evidence():
    init = "Chain(Counts(key) if x else Counts(others), Stops(), *callback)"
    text = CLASSES + CHAIN + RUN.replace("CALL", init)
    found = [each for each in decide(text) if each.container == "self.parts"]
    assert found and all(isinstance(each, Refusal) and each.rule == "SCN215" for each in found), found


CHAIN = """\
class Chain(eqx.Module):
    parts: tuple

    def __init__(self, *parts):
        self.parts = tuple(parts)

    def step(self, x, key):
        for part in self.parts:
            x = part.step(x, key)
        return x


"""


PROTOCOL = """\
from collections.abc import Sequence
from typing import Protocol

import equinox as eqx


class Step(Protocol):
    def apply(self, x): ...


class Model(eqx.Module):
    steps: Sequence[Step]

    def __call__(self, x):
        for step in self.steps:
            x = step.apply(x)
        return x
"""


def test_elements_of_a_protocol_are_composed_by_the_caller():
    (found,) = decide(PROTOCOL)
    assert isinstance(found, Refusal) and found.rule == "SCN215", found
