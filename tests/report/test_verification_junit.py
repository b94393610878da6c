"""The JUnit XML of a verification, parsed again."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.report.verification.junit import verification_junit
from scanify.report.visible import visible
from scanify.verify.verdict import CaseResult, PolicyResult, Verification
from tests.report import samples


def suites(*cases: CaseResult) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(verification_junit(Verification(cases, samples.VERSIONS)).encode()))


def outcomes(suite: ElementTree.Element) -> dict[str | None, str]:
    """How each test went: the name of its element, or "" where it passed."""
    return {test.get("name"): "".join(child.tag for child in test) for test in suite.iter("testcase")}


def test_a_suite_a_case_and_a_test_a_policy_and_check() -> None:
    (suite,) = suites(samples.gpt())
    assert suite.get("name") == "cases.py:gpt"
    checks = ("outputs", "gradients", "findings")
    once = ["parameters", "tangents", "batched", "keys"]
    assert list(outcomes(suite)) == [
        *once,
        *(f"{check} [{policy}]" for policy in samples.POLICIES for check in checks),
        "findings",
    ]
    assert set(outcomes(suite).values()) == {""}
    assert {test.get("classname") for test in suite.iter("testcase")} == {"cases.py:gpt"}


def test_what_differs_is_a_failure_and_what_was_not_run_is_skipped() -> None:
    (suite,) = suites(samples.failed())
    went = outcomes(suite)
    assert {name for name, how in went.items() if how == "failure"} == {
        "tangents", "keys", "findings", "findings [offload]",
        *(f"{check} [{policy}]" for policy in samples.POLICIES for check in ("outputs", "gradients")),
    }  # fmt: skip
    assert {name for name, how in went.items() if how == "skipped"} == {"batched"}
    failure = suite.find("testcase[@name='outputs [none]']/failure")
    assert failure is not None
    assert failure.get("message") == "values differ by 0.3 relative"
    assert failure.text == (
        "values differ by 0.3 relative\n"
        "first difference: the loop multiplies by 0.3 and the scan by 0.0\n"
        "before: gpt/model.py:41 layer 3: mul (8, 64) float32\n"
        "after: gpt/model.py:146 layer 3: mul (8, 64) float32"
    )


def test_a_tested_verdict_passes() -> None:
    (suite,) = suites(replace(samples.gpt(), keys=samples.TESTED))
    assert set(outcomes(suite).values()) == {""}


def test_a_case_that_could_not_be_run_is_one_error() -> None:
    (suite,) = suites(samples.crashed())
    assert outcomes(suite) == {"verified": "error"}
    error = suite.find("testcase/error")
    assert error is not None and error.text == samples.crashed().error
    assert error.get("message") == "cases.py:gpt_long failed with the rewritten model.py:"


@pytest.mark.parametrize(
    ("case", "why"),
    [
        pytest.param(
            replace(samples.gpt(), batched=samples.NOT_RUN), "the case is not verified; not run: batched", id="not run"
        ),
        pytest.param(CaseResult("c"), "the case is not verified; nothing was compared", id="nothing compared"),
        pytest.param(
            replace(samples.gpt(), policies=()), "the case is not verified; nothing was compared", id="no policy"
        ),
    ],
)
def test_a_case_that_is_not_good_does_not_pass_though_nothing_failed(case: CaseResult, why: str) -> None:
    (suite,) = suites(case)
    assert outcomes(suite)["verified"] == "failure"
    failure = suite.find("testcase[@name='verified']/failure")
    assert failure is not None and failure.get("message") == why


def test_each_variant_is_a_suite_of_its_own() -> None:
    first, second = suites(*samples.variants()[:2])
    assert (first.get("name"), second.get("name")) == (
        "cases.py:gpt (depth=4, batch=1)",
        "cases.py:gpt (depth=12, batch=1)",
    )
    held = {each.get("name"): each.get("value") for each in first.iter("property")}
    assert held == {**dict(samples.VERSIONS), "variant.depth": "4", "variant.batch": "1"}


@pytest.mark.parametrize("name", samples.verifications())
def test_the_counts_are_those_of_the_tests_and_times_are_decimals(name: str) -> None:
    root = ElementTree.fromstring(verification_junit(samples.verifications()[name]).encode())
    for element in (root, *root):
        assert element.get("tests") == str(len(list(element.iter("testcase"))))
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(count) == str(len(list(element.iter(tag))))
    timed = [root, *root.iter("testsuite"), *root.iter("testcase")]
    assert all(str(element.get("time")).replace(".", "", 1).isdigit() for element in timed)
    bad = len(list(root.iter("failure"))) + len(list(root.iter("error")))
    assert (bad == 0) == (samples.verifications()[name].good or name == "empty")


def test_the_time_of_a_suite_is_that_of_its_process_and_a_policys_what_it_took_to_build() -> None:
    (suite,) = suites(samples.gpt())
    assert suite.get("time") == "66.100"
    test = suite.find("testcase[@name='outputs [none]']")
    assert test is not None and test.get("time") == "0.621"


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e300])
def test_a_time_that_is_no_time_is_zero(seconds: float) -> None:
    (suite,) = suites(replace(samples.gpt(), seconds=(("total", seconds),)))
    assert suite.get("time") == "0.000"


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters() | st.characters(codec=None, max_codepoint=0x20) | st.sampled_from("\ud800<&]]>\"'\r\n")))
def test_any_text_comes_back_as_it_is_shown(text: str) -> None:
    case = CaseResult(text, error=f"x{text}", output=text)
    (suite,) = suites(case)
    assert suite.get("name") == visible(text)
    error = suite.find("testcase/error")
    assert error is not None and error.text == visible(f"x{text}")
    printed = suite.find("system-out")
    assert (printed is None) == (text == "")
    assert printed is None or printed.text == visible(text)


def test_several_findings_are_one_failure_with_all_of_them() -> None:
    policy = PolicyResult("none", samples.PROVED, samples.PROVED, findings=("first\nmore", "second"))
    (suite,) = suites(replace(samples.gpt(), policies=(policy,)))
    failure = suite.find("testcase[@name='findings [none]']/failure")
    assert failure is not None and (failure.get("message"), failure.text) == ("first", "first\nmore\nsecond")
