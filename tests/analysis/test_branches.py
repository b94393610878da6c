"""Lists that are one thing in one branch and another, or nothing, in the other."""

import pytest
from helpers import MANY, model, only, text_of

from scanify.analysis.plan import After, Holds, InitStack, Kind, Plan, Refusal


@pytest.mark.parametrize(
    ("second", "sites", "holds"),
    [
        ("[Block(8, key=k) for k in jr.split(key)]", 2, Holds.ARRAY_STACKED),
        ("[Other() for k in jr.split(key, depth)]", 2, Holds.BLOCK_SEQ),
        ("None", 1, Holds.ARRAY_STACKED),
    ],
)
def test_a_list_chosen_by_a_condition_is_stacked_on_each_side(second, sites, holds):
    init = f"self.layers = {MANY} if depth > 4 else {second}"
    found = only(model(init=init))
    assert isinstance(found, Plan)
    assert (len(text_of(found, model(init=init))), found.holds) == (sites, holds)
    grown = only(model(init=f"{init}\nself.layers.append(Other())"))
    assert isinstance(grown, Plan) and isinstance(grown.stack, InitStack)
    assert (grown.holds, grown.kind, grown.safe) == (Holds.BLOCK_SEQ, Kind.GROUP, True)
    assert [type(site) for site in grown.stack.sites] == [After]  # both lists are stacked when they are complete


@pytest.mark.parametrize(
    ("init", "sites"),
    [
        pytest.param(f"if depth > 4:\n    self.layers = {MANY}\nelse:\n    self.layers = []", 2, id="a statement"),
        pytest.param(f"self.layers = {MANY} if depth > 4 else ()", 2, id="an expression"),
        pytest.param(f"layers = []\nif depth:\n    layers = {MANY}\nself.layers = tuple(layers)", 1, id="a local list"),
    ],
)
def test_a_branch_with_an_empty_list_is_stacked_as_an_empty_sequence(init, sites):
    found = only(model(init=init))
    assert isinstance(found, Plan)
    assert len(text_of(found, model(init=init))) == sites
    assert (found.holds, found.kind) == (Holds.BLOCK_SEQ, Kind.FOLD)


def test_lists_that_are_empty_in_every_branch_hold_nothing():
    found = only(model(init="self.layers = [] if depth else ()"))
    assert isinstance(found, Refusal) and (found.rule, found.reason) == (
        "SCN201",
        "cannot tell which class the layers have: the list is made empty, and nothing is shown to fill it",
    )
