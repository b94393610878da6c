"""Lists that are one thing in one branch and another, or nothing, in the other."""

import pytest
from helpers import MANY, model, only, text_of

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import After, InitStack


@pytest.mark.parametrize(
    "second", ["[Block(8, key=k) for k in jr.split(key)]", "[Other() for k in jr.split(key, depth)]", "None"]
)
def test_a_list_chosen_by_a_condition_is_stacked_as_a_sequence(second):
    init = f"self.layers = {MANY} if depth > 4 else {second}"
    found = only(model(init=init))
    assert isinstance(found, Plan) and found.safe and found.holds is Holds.BLOCK_SEQ
    grown = only(model(init=f"{init}\nself.layers.append(Other())"))
    assert isinstance(grown, Plan) and isinstance(grown.stack, InitStack) and grown.holds is Holds.BLOCK_SEQ
    assert [type(site) for site in grown.stack.sites] == [After]  # both lists are stacked when they are complete


@pytest.mark.parametrize(
    ("init", "sites"),
    [
        pytest.param(f"if depth > 4:\n    self.layers = {MANY}\nelse:\n    self.layers = []", 2, id="a statement"),
        pytest.param(f"self.layers = {MANY} if depth > 4 else ()", 1, id="an expression"),
        pytest.param(f"layers = []\nif depth:\n    layers = {MANY}\nself.layers = tuple(layers)", 1, id="a local list"),
    ],
)
def test_a_branch_with_an_empty_list_is_stacked_as_an_empty_sequence(init, sites):
    found = only(model(init=init))
    assert isinstance(found, Plan)
    assert len(text_of(found, model(init=init))) == sites
    assert (found.holds, found.kind) == (Holds.BLOCK_SEQ, Kind.FOLD)


def test_lists_that_are_empty_in_every_branch_are_undecided():
    found = only(model(init="self.layers = [] if depth else ()"))
    assert isinstance(found, Refusal) and found.rule == "SCN201"
