"""Advice against scanning, in every format: what was measured, of which case; that there is none; that nobody asked."""

import json
from dataclasses import replace

import pytest

from scanify.report.formats import FORMATS, render
from scanify.report.verification.text import verification_text
from scanify.verify.verdict import Advice, Verification
from tests.report import samples

NONE = "nothing that was measured speaks against scanning"


def shown(verification: Verification, form: str) -> str:
    text = verification_text(verification, 200) if form == "text" else render(verification, form)
    return text.replace("\\", "")


@pytest.mark.parametrize("form", ["text", *FORMATS])
def test_each_advice_is_there_and_changes_no_verdict(form: str) -> None:
    given = samples.verifications()["advised"]
    text = shown(given, form)
    assert given.advice is not None and len(given.advice) == 3
    for each in given.advice:
        assert each.text in text or each.text.replace("(", "&#40;") in text, each
    assert given.good and ("FAILED" not in text or form == "html")


@pytest.mark.parametrize("form", ["text", *(form for form in FORMATS if form != "json")])
def test_that_nothing_speaks_against_it_is_said_where_it_was_asked(form: str) -> None:
    given = samples.verifications()["nothing to advise"]
    assert NONE in shown(given, form)
    assert NONE not in shown(replace(given, advice=None), form)


def test_json_tells_none_from_not_asked() -> None:
    good = samples.verifications()["good"]
    for advice, held in (
        ((), []),
        (None, None),
        ((Advice("c", "step", "t"),), [{"case": "c", "kind": "step", "text": "t"}]),
    ):
        assert json.loads(render(replace(good, advice=advice), "json"))["advice"] == held


def test_in_junit_it_is_a_property_of_its_case() -> None:
    suites = render(samples.verifications()["advised"], "junit").split("<testsuite ")[1:]
    wanted = ({"advice.step": 1, "advice.build": 1, "advice.failed": 0}, {"advice.step": 0, "advice.failed": 1})
    for suite, counts in zip(suites, wanted, strict=True):
        assert {name: suite.count(f'name="{name}"') for name in counts} == counts


def test_more_than_markdown_has_room_for_is_cut_with_a_word() -> None:
    many = tuple(Advice("c", "step", f"{at} " + 300 * "x") for at in range(60))
    text = render(replace(samples.verifications()["good"], advice=many), "markdown")
    assert all(f"{at} xxx" in text for at in range(60))
    from scanify.report.verification.markdown import verification_markdown

    short = verification_markdown(replace(samples.verifications()["good"], advice=many), 8_000)
    assert len(short) <= 8_000 and "more, which would make the comment too long" in short
