"""The documents by name."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scanify.report.formats import FORMATS, render
from scanify.report.verification.summary import summary
from scanify.report.verification.text import verification_text
from scanify.verify.verdict import Difference, Operation, Status, Verdict, Verification
from tests.report import samples

STARTS = {"json": "{\n", "markdown": "**scanify verify: ", "junit": "<?xml version=", "html": "<!DOCTYPE html>\n"}


def test_the_names() -> None:
    assert FORMATS == ("json", "markdown", "junit", "html") == tuple(STARTS)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", samples.verifications())
def test_every_document_can_be_written_and_ends_with_a_line_end(form: str, name: str) -> None:
    document = render(samples.verifications()[name], form)
    assert document.startswith(STARTS[form]) and document.endswith("\n")
    document.encode("utf-8")


def test_another_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="expected one of the formats json, markdown, junit, html; got 'xml'"):
        render(Verification(()), "xml")


@pytest.mark.parametrize("form", FORMATS)
def test_paths_below_the_folder_are_relative_to_it(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    verdict = Verdict(
        Status.FAILED,
        f"it raised at {folder}/gpt/model.py:3",
        Difference("they differ", Operation("mul", f"{folder}/gpt/model.py", 41, 3)),
    )
    case = replace(samples.gpt(), case=f"{folder}/cases.py:gpt", tangents=verdict)
    document = render(Verification((case,)), form, folder=folder)
    assert str(folder) not in document
    assert "gpt/model.py" in document and "cases.py:gpt" in document
    assert str(folder) in render(Verification((case,)), form)


STREAMS = "for the same parameters, and up to a renaming of random streams"


@pytest.mark.parametrize("form", [*FORMATS, "text"])
def test_every_document_says_for_what_alone_a_proof_holds(form: str) -> None:
    """In the line that sums up, and with the case; once in formats that have one place for it."""
    plain = samples.gpt()
    given = Verification((replace(plain, proviso=STREAMS),))
    document = verification_text(given, 400) if form == "text" else render(given, form)
    assert document.count(STREAMS) >= (1 if form in ("json", "junit") else 2)
    assert STREAMS not in (
        verification_text(Verification((plain,))) if form == "text" else render(Verification((plain,)), form)
    )


def test_cases_that_hold_without_it_are_counted_apart() -> None:
    plain = samples.gpt()
    assert plain.good
    _, said = summary(Verification((plain, replace(plain, proviso=STREAMS))))
    assert said.endswith(f", {STREAMS} in 1 of them")


def test_the_change_and_what_was_printed_stay_as_they_are(tmp_path: Path) -> None:
    case = replace(samples.failed(), output=f"reading {tmp_path}/data\n")
    diff = f"--- m.py\n+++ m.py\n@@ -1 +1 @@\n-x = '{tmp_path}/data'\n+x = 1\n"
    document = json.loads(render(Verification((case,), (), diff), "json", folder=tmp_path))
    assert document["diff"] == diff and document["cases"][0]["output"] == case.output


def test_the_folder_changes_nothing_else(tmp_path: Path) -> None:
    for verification in samples.verifications().values():
        assert render(verification, "json", folder=tmp_path) == render(verification, "json")
