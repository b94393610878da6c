"""The schema of the JSON of a verification: what is written validates, and what breaks the contract does not."""

import copy
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from scanify.report.verification.json import SCHEMA_FILE, VERSION, verification_json
from scanify.verify.mesh.hlo import KINDS
from scanify.verify.mesh.on_mesh import Collective, OnMesh, Partitioned
from scanify.verify.training.losses import Losses, Step
from scanify.verify.verdict import (
    CaseResult,
    Difference,
    Measurement,
    Operation,
    PolicyResult,
    Status,
    Verdict,
    Verification,
)
from tests.report import samples

SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
Change = Callable[[dict[str, Any]], object]


def written(verification: Verification) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(verification_json(verification), allow_nan=False))
    return document


def errors(document: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document)]


def test_the_schema_is_one_and_has_the_version_that_is_written() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["version"] == {"description": "The version of this format.", "const": VERSION}


@pytest.mark.parametrize("name", samples.verifications())
def test_what_is_written_validates(name: str) -> None:
    assert errors(written(samples.verifications()[name])) == []


counts = st.none() | st.integers(0, 2**70)
seconds = st.none() | st.floats(0) | st.just(float("nan"))
texts = st.lists(st.text(max_size=5), max_size=2).map(tuple)
pairs = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2).map(lambda held: tuple(held.items()))
operations = st.builds(Operation, st.text(max_size=5), st.none() | st.text(max_size=5), counts, counts)
differences = st.builds(Difference, st.text(max_size=5), st.none() | operations, st.none() | operations)
verdicts = st.builds(Verdict, st.sampled_from(Status), st.text(max_size=5), st.none() | differences)
measurements = st.builds(
    Measurement,
    **{f.name: seconds if f.name.endswith("_seconds") else counts for f in fields(Measurement) if f.name != "backend"},
    backend=st.none() | st.text(max_size=5),
)
policies = st.builds(
    PolicyResult, st.text(max_size=5), verdicts, verdicts, measurements, texts, texts, st.none() | st.booleans()
)
sizes = st.none() | st.integers(0, 2**50)
collectives = st.builds(Collective, st.sampled_from(KINDS), st.integers(0, 2**50), st.integers(0, 2**50))
programs = st.sampled_from(["constructor", "call", "gradient"])
partitioned = st.builds(
    Partitioned,
    programs,
    st.text(max_size=5),
    sizes,
    sizes,
    sizes,
    st.lists(collectives, max_size=2).map(tuple),
    st.booleans(),
)
axes = st.lists(st.tuples(st.text(max_size=5), st.integers(1, 512)), max_size=2).map(tuple)
meshes = st.builds(OnMesh, axes, st.lists(partitioned, max_size=2).map(tuple), texts)
losses = st.floats() | st.just(float("nan"))
steps = st.builds(Step, losses, losses, st.booleans(), sizes, st.floats(0))
trained = st.builds(
    Losses, st.text(max_size=5), st.text(max_size=5), st.integers(4, 17), st.lists(steps, max_size=2).map(tuple)
)
common = {
    "case": st.text(max_size=5),
    "output": st.text(max_size=5),
    "seconds": pairs.map(lambda held: tuple((step, float(len(value))) for step, value in held)),
    "variant": pairs,
    "layers": counts,
    "notes": texts,
    "cached": st.booleans(),
    "original": measurements,
    "on_mesh": st.none() | meshes,
    "losses": st.none() | trained,
    "findings": texts,
}
maybe = st.none() | verdicts
compared = st.builds(
    CaseResult,
    **common,
    parameters=maybe,
    policies=st.lists(policies, max_size=2).map(tuple),
    tangents=maybe,
    batched=maybe,
    keys=maybe,
    training=maybe,
)
stopped = st.builds(CaseResult, **common, error=st.text(max_size=5))
verifications = st.builds(Verification, st.lists(compared | stopped, max_size=2).map(tuple), pairs, st.text(max_size=5))


@settings(max_examples=60, deadline=None)
@given(verifications)
def test_whatever_a_verification_holds_is_written_as_the_schema_says(verification: Verification) -> None:
    assert errors(written(verification)) == []


GOOD, FAILED, CRASHED = (samples.verifications()[name] for name in ("good", "failed", "crashed"))


def at(document: Any, path: str) -> Any:
    for part in path.split("/"):
        document = document[int(part) if part.isdigit() else part]
    return document


def put(path: str, value: object) -> Change:
    holder, _, name = path.rpartition("/")
    return lambda document: (at(document, holder) if holder else document).update({name: value})


CONTRACT: dict[str, tuple[Verification, Change]] = {
    "another version": (GOOD, put("version", 2)),
    "a status that there is not": (GOOD, put("cases/0/policies/0/outputs/status", "EQUAL")),
    "the name of a status in place of its value": (FAILED, put("cases/1/batched/status", "NOT_RUN")),
    "a figure in words": (GOOD, put("cases/0/original/saved_bytes", "1 GiB")),
    "a negative figure": (GOOD, put("cases/0/policies/0/measurements/compile_seconds", -1.0)),
    "a fraction of a byte": (GOOD, put("cases/0/original/temp_bytes", 0.5)),
    "a misspelt field": (GOOD, put("cases/0/original/tmp_bytes", 1)),
    "a variant that is a list": (GOOD, put("cases/0/variant", [["batch", "4"]])),
    "an argument that is a number": (GOOD, put("cases/0/variant", {"batch": 4})),
    "a difference that is a text": (FAILED, put("cases/1/policies/0/difference", "mul")),
    "a line that is a text": (FAILED, put("cases/1/tangents/difference/before/line", "41")),
    "seconds that are a list": (GOOD, put("cases/0/seconds", [["trace", 1.0]])),
    "a finding that is no text": (FAILED, put("cases/1/findings", [{"text": "layer 3"}])),
    "good without a case": (GOOD, put("cases", [])),
    "good with a case that is not": (FAILED, put("good", True)),
    "not good though every case is": (GOOD, put("good", False)),
    "a case that is not good though nothing is wrong": (
        GOOD,
        lambda document: (put("good", False)(document), put("cases/0/good", False)(document)),
    ),
    "a good case whose outputs differ": (GOOD, put("cases/0/policies/5/outputs/status", "FAILED")),
    "a good case whose gradients were not run": (GOOD, put("cases/0/policies/0/gradients/status", "NOT RUN")),
    "a good case whose tangents differ": (GOOD, put("cases/0/tangents/status", "FAILED")),
    "a good case whose batched outputs differ": (GOOD, put("cases/0/batched/status", "FAILED")),
    "a good case that uses keys twice": (GOOD, put("cases/0/keys/status", "FAILED")),
    "a good case whose parameters were not compared": (GOOD, put("cases/0/parameters", None)),
    "a good case with a finding": (GOOD, put("cases/0/findings", ["layer 3"])),
    "a good case with a finding of a policy": (GOOD, put("cases/0/policies/1/findings", ["no remat"])),
    "a good case without a policy": (GOOD, put("cases/0/policies", [])),
    "an error beside a verdict": (CRASHED, put("cases/0/keys", written(GOOD)["cases"][0]["keys"])),
    "an error beside policies": (CRASHED, put("cases/0/policies", written(GOOD)["cases"][0]["policies"])),
}


@pytest.mark.parametrize("name", CONTRACT)
def test_what_breaks_the_contract_does_not_validate(name: str) -> None:
    verification, change = CONTRACT[name]
    document = written(verification)
    before = copy.deepcopy(document)
    change(document)
    assert document != before
    assert errors(document) != []


def objects(document: Any, path: str = "") -> list[str]:
    """The paths of all objects with fixed fields; the first of each list stands for the others."""
    found = []
    if isinstance(document, dict):
        found += [] if path.rpartition("/")[2] in ("versions", "variant", "seconds") else [path]
        for name, value in document.items():
            found += objects(value, f"{path}/{name}".lstrip("/"))
    elif isinstance(document, list) and document:
        found += objects(document[-1], f"{path}/{len(document) - 1}")
    return found


def test_every_field_is_required_and_there_are_no_others() -> None:
    document = written(FAILED)
    paths = objects(document)
    assert len(paths) > 20
    for path in paths:
        for name in list(at(document, path) if path else document):
            less = copy.deepcopy(document)
            del (at(less, path) if path else less)[name]
            assert errors(less) != [], f"{path}/{name} may be missing"
        more = copy.deepcopy(document)
        (at(more, path) if path else more)["extra"] = None
        assert errors(more) != [], f"{path} may have other fields"


def test_every_field_says_what_it_is_or_refers_to_what_does() -> None:
    for kind in (SCHEMA, *SCHEMA["$defs"].values()):
        for name, field in kind.get("properties", {}).items():
            assert "description" in field or "$ref" in field or name == "policy" or "required" not in kind, name
