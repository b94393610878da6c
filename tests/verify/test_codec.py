"""Dataclasses to JSON and back."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.request import Change, Request
from scanify.verify.verdict import CaseResult, Difference, Measurement, Operation, PolicyResult, Status, Verdict

texts = st.text(max_size=8)
paths = st.builds(Path, st.sampled_from(["/a.py", "/p/b c.py", "/ü.py"]))
operations = st.builds(Operation, texts, st.none() | texts, st.none() | st.integers(), st.none() | st.integers(0, 9))
differences = st.builds(Difference, texts, st.none() | operations, st.none() | operations)
verdicts = st.builds(Verdict, st.sampled_from(Status), texts, st.none() | differences)
floats = st.floats(allow_nan=False, allow_infinity=False)
measurements = st.builds(Measurement, st.none() | st.integers(), compile_seconds=st.none() | floats)
policies = st.builds(PolicyResult, texts, verdicts, verdicts, measurements, st.lists(texts, max_size=2).map(tuple))
results = st.builds(
    CaseResult,
    texts,
    st.none() | verdicts,
    st.lists(policies, max_size=2).map(tuple),
    measurements,
    st.lists(texts, max_size=2).map(tuple),
    st.lists(st.tuples(texts, floats), max_size=2).map(tuple),
    st.none() | texts,
    texts,
)
requests = st.builds(
    Request,
    case=st.builds(CaseSpec, paths, texts, texts),
    target=paths,
    changes=st.lists(st.builds(Change, paths, st.binary(), st.binary()), max_size=2).map(tuple),
    policies=st.lists(texts, max_size=2).map(tuple),
    requested=st.none() | texts,
    abstract=st.booleans(),
    measure=st.booleans(),
    directory=paths,
)


@given(results)
def test_every_result_comes_back_as_it_was(result: CaseResult) -> None:
    assert from_json(CaseResult, json.loads(json.dumps(to_json(result)))) == result


@given(requests)
def test_every_request_comes_back_as_it_was(request: Request) -> None:
    assert from_json(Request, json.loads(json.dumps(to_json(request)))) == request


@dataclass(frozen=True)
class Pair:
    left: int
    right: tuple[int, str]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected an object for Pair, got list"),
        ({"left": "1", "right": [1, "a"]}, "expected int, got str"),
        ({"left": True, "right": [1, "a"]}, "expected int, got bool"),
        ({"left": 1, "right": [1]}, "expected 2 items, got 1"),
        ({"left": 1, "right": "ab"}, "expected a list, got str"),
        ({"left": 1, "right": [1, "a"], "top": 1}, "Pair has no field top"),
        ({"left": 1}, "right"),
    ],
)
def test_what_is_not_of_the_type_is_refused(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        from_json(Pair, value)


def test_a_type_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="got set"):
        to_json({1})
