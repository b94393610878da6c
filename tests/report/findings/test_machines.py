"""The formats for other programs, each read back by what reads it."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scanify.report.findings import github, gitlab, junit, markdown, statistics
from scanify.report.findings.formats import FORMATS, render
from tests.command import LINE, MODEL
from tests.report.findings import samples


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_every_finding(form: str, tmp_path: Path) -> None:
    text = render(samples.found(tmp_path), form)
    assert text.endswith("\n") and text.encode("utf-8")
    for wanted in ("model.py", "sub/stays.py", "bad.py", "SCN101", "SCN205"):
        assert wanted in text, wanted


def test_another_format_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected one of the formats full, concise, json"):
        render(samples.found(tmp_path), "xml")


class TestGitHub:
    # A workflow command: its name, its properties, its text; https://github.com/actions/runner, ActionCommand.cs.
    COMMAND = re.compile(r"::(\w+) ([^:]*)::(.*)")

    def test_levels_files_and_lines(self, tmp_path: Path) -> None:
        commands = [self.COMMAND.fullmatch(line) for line in github.render(samples.found(tmp_path)).splitlines()]
        assert [found and found[1] for found in commands] == ["warning", "notice", "error"]
        fields = [dict(each.split("=", 1) for each in found[2].split(",")) for found in commands if found]
        assert [each["file"] for each in fields] == ["model.py", "sub/stays.py", "bad.py"]
        assert (fields[0]["line"], fields[0]["endLine"], fields[0]["title"]) == (
            f"{LINE}",
            f"{LINE + 1}",
            "scanify (SCN101)",
        )

    def test_nothing_of_a_name_or_a_message_ends_a_command(self, tmp_path: Path) -> None:
        text = github.render(samples.hostile(tmp_path))
        assert text.count("\n") == 1
        found = self.COMMAND.fullmatch(text.rstrip("\n"))
        assert found is not None and found[2].count("=") == 4 and found[2].count(",") == 3


class TestGitLab:
    def test_the_fields_that_code_quality_asks_for(self, tmp_path: Path) -> None:
        issues = json.loads(gitlab.render(samples.found(tmp_path)))
        assert [each["severity"] for each in issues] == ["minor", "info", "major"]
        assert issues[0]["location"] == {"path": "model.py", "lines": {"begin": LINE, "end": LINE + 1}}
        assert {tuple(each) for each in issues} == {
            ("description", "check_name", "fingerprint", "severity", "location")
        }

    def test_fingerprints_differ_and_stay_where_lines_are_put_above(self, tmp_path: Path) -> None:
        twice = MODEL + MODEL[MODEL.index("    def __call__(self, x):\n        for") :].replace("__call__", "again")
        before = samples.found(tmp_path, model=twice).fingerprints()
        after = samples.found(tmp_path, model=f"# one\n# two\n{twice}").fingerprints()
        assert len(set(before)) == 2 and before == after


class TestJUnit:
    def test_suites_are_files_and_tests_findings(self, tmp_path: Path) -> None:
        root = ElementTree.fromstring(junit.render(samples.found(tmp_path)))
        assert [root.get(count) for count in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "1"]
        assert [suite.get("name") for suite in root] == ["model.py", "sub/stays.py", "bad.py"]
        assert [test[0].tag for suite in root for test in suite] == ["failure", "skipped", "error"]

    def test_without_a_finding_one_test_passes(self, tmp_path: Path) -> None:
        root = ElementTree.fromstring(junit.render(samples.found(tmp_path, plain="x = 1\n")))
        assert root.get("tests") == "1" and not list(root[0][0])

    def test_what_xml_does_not_allow_is_escaped(self, tmp_path: Path) -> None:
        assert len(ElementTree.fromstring(junit.render(samples.hostile(tmp_path)))) == 1


def test_a_row_of_markdown_for_each_finding(tmp_path: Path) -> None:
    for found, rows in ((samples.found(tmp_path / "1"), 3), (samples.hostile(tmp_path), 1)):
        lines = markdown.render(found).splitlines()
        assert lines[2:4] == ["| where | rule | what |", "|---|---|---|"] and len(lines) == 4 + rows
        assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in lines[4:])


def test_statistics_count_each_rule(tmp_path: Path) -> None:
    found = samples.found(tmp_path, one=MODEL, two=MODEL, bad="def f(:\n")
    lines = statistics.render(found, "full").splitlines()
    assert lines[:2] == ["2  SCN101  python-layer-loop", "1  skipped  a file was not read"]
    counted = json.loads(statistics.render(found, "json"))
    assert counted[0] == {"rule": "SCN101", "name": "python-layer-loop", "count": 2}
