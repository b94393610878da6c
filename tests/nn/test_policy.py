"""`ScanCheckpointPolicy`: what the words mean, what combines, and that a policy can stand in a static field."""

from typing import Any

import pytest

from scanify.nn import ScanCheckpointPolicy as Policy


@pytest.mark.parametrize(
    ("word", "policy"),
    [
        (True, Policy(save_carries=True, save_inputs=True)),
        (True, Policy()),
        ("full", Policy(save_carries=True, save_inputs=True)),
        ("recompute", Policy()),
        (False, Policy(disable=True)),
        ("nested", Policy(nested=True)),
        ("offload", Policy(save_carries="offload")),
        ("save_all", Policy(save_carries=True, save_inputs=True, save_block_internals=True)),
        ("dots", Policy(save_dots=True)),
    ],
    ids=repr,
)
def test_a_word_is_the_policy_of_the_documentation(word: Any, policy: Policy) -> None:
    assert Policy.of(word) == policy
    assert hash(Policy.of(word)) == hash(policy)


def test_the_words_are_policies_of_their_own() -> None:
    words = (True, False, "nested", "offload", "save_all", "dots")
    assert len({Policy.of(word) for word in words}) == len(words)


def test_a_policy_is_its_own() -> None:
    policy = Policy(nested=4)
    assert Policy.of(policy) is policy


def test_lists_of_names_become_tuples() -> None:
    policy = Policy(save_block_internals=["y", "z"], offload_block_internals=["w"])  # type: ignore[arg-type]
    assert policy == Policy(save_block_internals=("y", "z"), offload_block_internals=("w",))
    assert len({policy, Policy(save_block_internals=("y", "z"), offload_block_internals=("w",))}) == 1


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"save_carries": "host"}, "'host'", id="save_carries"),
        pytest.param({"save_inputs": 1}, "save_inputs", id="save_inputs"),
        pytest.param({"save_block_internals": "y"}, "sequence of names", id="one name instead of a list"),
        pytest.param({"save_block_internals": [1]}, "sequence of names", id="a number for a name"),
        pytest.param({"offload_block_internals": True}, "sequence of names", id="offload_block_internals"),
        pytest.param({"nested": 0}, "nested", id="no chunks"),
        pytest.param({"nested": -1}, "nested", id="fewer than no chunks"),
        pytest.param({"nested": 2.0}, "nested", id="a fraction of chunks"),
        pytest.param(
            {"save_block_internals": True, "offload_block_internals": ["y"]}, "everything", id="all and offload"
        ),
        pytest.param({"save_block_internals": True, "save_dots": True}, "everything", id="all and dots"),
        pytest.param(
            {"save_block_internals": True, "save_carries": "offload"}, "everything", id="all and offloaded carries"
        ),
        pytest.param({"save_block_internals": ["y"], "offload_block_internals": ["y"]}, "'y'", id="one name twice"),
        pytest.param({"simple": True, "save_block_internals": ["y"]}, "simple", id="simple with names"),
        pytest.param({"simple": True, "save_carries": "offload"}, "simple", id="simple with offload"),
        pytest.param({"disable": True, "nested": True}, "disable", id="disabled and nested"),
        pytest.param({"disable": True, "save_dots": True}, "disable", id="disabled and dots"),
        pytest.param({"disable": True, "save_carries": "offload"}, "disable", id="disabled and offload"),
    ],
)
def test_a_combination_that_cannot_be_is_refused_when_it_is_built(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match="ScanCheckpointPolicy") as caught:
        Policy(**fields)
    assert text in str(caught.value)


@pytest.mark.parametrize("word", ["ful", "", None, 1, 0, 2.0, ["full"]], ids=repr)
def test_an_unknown_word_is_refused_with_the_known_ones(word: Any) -> None:
    with pytest.raises(ValueError, match="remat policy") as caught:
        Policy.of(word)
    assert repr(word) in str(caught.value)
    assert all(repr(known) in str(caught.value) for known in ("full", "nested", "offload", "save_all", "dots"))
