"""A case that calls a loop that stays, beside one that scans."""

import pytest

from scanify.verify.unscanned import unscanned_loops, with_loops_that_stay
from scanify.verify.verdict import CaseResult, LoopRun, PolicyResult, Status, Verdict

PROVED = Verdict(Status.PROVED)
STAYS = (
    "nothing is scanned in the rewritten version: it holds no stack of layers and its traced program has no scan more"
)
HOLDS = (
    "nothing is scanned in the rewritten version: it holds a stack of 3 layers, but its traced program has no scan more"
)


def case(name: str, *findings: str, error: str | None = None, loops: tuple[LoopRun, ...] = ()) -> CaseResult:
    policies = () if error else (PolicyResult("none", PROVED, PROVED),)
    return CaseResult(name, None if error else PROVED, policies, findings=findings, error=error, loops=loops)


def loop(line: int, iterations: int | None) -> LoopRun:
    return LoopRun("model.py", line, "for layer in self.layers", iterations)


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


def test_a_rewritten_loop_that_only_such_a_case_runs_is_unscanned() -> None:
    results = (case("a", loops=(loop(3, 4), loop(9, None))), case("b", STAYS, loops=(loop(3, None), loop(9, 4))))
    assert with_loops_that_stay(results) == results
    assert unscanned_loops(results) == (loop(9, 4),)


@pytest.mark.parametrize("iterations", [None, 0, 1])
def test_a_loop_that_is_too_short_or_not_run_is_not_unscanned(iterations: int | None) -> None:
    results = (case("a", loops=(loop(3, 4),)), case("b", STAYS, loops=(loop(9, iterations),)))
    assert unscanned_loops(results) == () and with_loops_that_stay(results)[1].notes == (STAYS,)


def test_a_loop_that_another_case_scans_is_not_unscanned() -> None:
    results = (case("a", loops=(loop(3, 4),)), case("b", STAYS, loops=(loop(3, 2),)))
    assert unscanned_loops(results) == () and with_loops_that_stay(results)[1].notes == (STAYS,)


def test_where_no_case_scans_no_loop_is_unscanned() -> None:
    assert unscanned_loops((case("a", STAYS, loops=(loop(3, 4),)),)) == ()
