"""What reports say of a training: a table of the losses of both versions, and the verdict on them."""

import math
from xml.etree.ElementTree import fromstring

import pytest

from scanify.report.formats import FORMATS, render
from scanify.report.verification.losses import heading, rows
from scanify.report.verification.summary import summary
from scanify.report.verification.text import verification_text
from scanify.verify.training.losses import Losses, Step
from scanify.verify.verdict import Status, Verdict, Verification
from tests.report import samples

TRAINED = samples.verifications()["trained"]


def test_text_has_a_line_for_each_step() -> None:
    lines = verification_text(TRAINED).splitlines()
    at = lines.index("  losses of 3 steps: the output, SGD (rate 0.01)")
    assert [line.split() for line in lines[at + 1 : at + 6] if "--" not in line] == [
        ["step", "original", "rewritten", "difference"],
        ["1", "4.5", "4.5", "equal"],
        ["2", "4.375", "4.375", "equal"],
        ["3", "4.25", "4.250001", "2", "ulp,", "1e-06"],
    ]
    assert "  training TESTED  3 steps: at most 2 ulp apart" in lines


def test_markdown_has_the_table_for_a_pull_request() -> None:
    text = render(TRAINED, "markdown")
    assert (
        "\n| step | original | rewritten | difference |\n| --: | --- | --- | --- |\n| 1 | 4.5 | 4.5 | equal |\n" in text
    )
    assert "| 3 | 4.25 | 4.250001 | 2 ulp, 1e-06 |\n" in text


def test_html_has_the_table() -> None:
    assert '<tr><th scope="row">3</th><td>4.25</td><td>4.250001</td><td>2 ulp, 1e-06</td></tr>' in render(
        TRAINED, "html"
    )


def test_losses_that_were_tested_leave_a_proof_a_proof() -> None:
    assert summary(TRAINED)[0] == "PROVED"


@pytest.mark.parametrize("status", [Status.FAILED, Status.NOT_RUN])
def test_losses_that_differ_or_were_not_compared_fail(status: Status) -> None:
    verification = Verification((samples.gpt(training=Verdict(status, "for a reason")),))
    assert not verification.good
    assert summary(verification)[0] == ("FAILED" if status is Status.FAILED else "NOT VERIFIED")
    [test] = [
        each for each in fromstring(render(verification, "junit")).iter("testcase") if each.get("name") == "training"
    ]
    assert [each.tag for each in test] == ["failure" if status is Status.FAILED else "skipped"]
    assert all("for a reason" in render(verification, form) for form in FORMATS)


def test_of_many_steps_some_are_shown_with_the_worst_one() -> None:
    steps = [Step(1.0, 1.0, equal=True) for _ in range(1000)]
    steps[333] = Step(1.0, 1.5, equal=False, ulp=2**22, relative=0.5)
    found = Losses("SGD", "the output", 9, tuple(steps))
    shown = rows(found)
    assert len(shown) == 21 and shown[0][0] == "1" and shown[-1][0] == "1,000"
    assert ("334", "1", "1.5", "0.5") in shown
    assert heading(found) == "losses of 1,000 steps (21 of them are shown): the output, SGD"


def test_infinite_losses_are_null_in_json() -> None:
    found = Losses("SGD", "the output", 9, (Step(math.nan, math.inf, equal=False, relative=math.inf),))
    text = render(Verification((samples.gpt(losses=found),)), "json")
    assert '"before": null' in text and '"after": null' in text and '"relative": null' in text
