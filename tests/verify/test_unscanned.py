"""A case that calls a loop that stays, beside one that scans."""

import pytest

from scanify.verify.unscanned import with_loops_that_stay
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict

PROVED = Verdict(Status.PROVED)
STAYS = (
    "nothing is scanned in the rewritten version: it holds no stack of layers and its traced program has no scan more"
)
HOLDS = (
    "nothing is scanned in the rewritten version: it holds a stack of 3 layers, but its traced program has no scan more"
)


def case(name: str, *findings: str, error: str | None = None) -> CaseResult:
    policies = () if error else (PolicyResult("none", PROVED, PROVED),)
    return CaseResult(name, None if error else PROVED, policies, findings=findings, error=error)


def test_beside_a_case_that_scans_it_is_a_note() -> None:
    train, decode = with_loops_that_stay([case("train"), case("decode", STAYS, "a dtype differs")])
    assert train == case("train") and train.good
    assert decode.findings == ("a dtype differs",) and decode.notes == (STAYS,)


@pytest.mark.parametrize("others", [(), (case("b", STAYS),), (case("b", error="it died"),), (case("b", HOLDS),)])
def test_where_no_other_scans_it_is_a_finding(others: tuple[CaseResult, ...]) -> None:
    results = (case("a", STAYS), *others)
    assert with_loops_that_stay(results) == results


def test_a_stack_that_nothing_scans_is_a_finding_all_the_same() -> None:
    results = (case("train"), case("decode", HOLDS))
    assert with_loops_that_stay(results) == results
