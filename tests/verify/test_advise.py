"""Advice: what the figures say against scanning, and only that."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.verify.measure import advise as adviser
from scanify.verify.measure.advise import advise
from scanify.verify.measure.pace import in_seconds
from scanify.verify.verdict import CaseResult, Measurement, PolicyResult, Status, Verdict

KEPT = (
    "to keep a loop, write `# scanify: ignore` behind its head: its list stays a list, and other loops over it stack "
    "it when they are called"
)
NO_VERDICT = Verdict(Status.NOT_RUN, "timed")


def figures(
    build: float | None = None, step: float | None = None, memory: int | None = None, flops: int | None = None
) -> Measurement:
    """`build` seconds in three equal parts, `memory` bytes of temporaries."""
    third = None if build is None else build / 3
    given = None if memory is None else 0
    return Measurement(None, None, third, third, third, memory, "cpu", given, given, flops=flops, step_seconds=step)


def case(loop: Measurement, layers: int | None = 4, **scans: Measurement) -> CaseResult:
    policies = tuple(PolicyResult(name, NO_VERDICT, NO_VERDICT, each) for name, each in scans.items())
    return CaseResult("cases.py:gpt", policies=policies, original=loop, layers=layers)


def said(*cases: CaseResult) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in advise(cases)]


def test_a_scan_that_compiles_no_faster() -> None:
    assert said(case(figures(0.49), full=figures(0.66), none=figures(0.60))) == [
        (
            "build",
            "4 layers: the loop is traced and compiled in 0.49 s, the scan (none) in 0.6 s; scanning saves no time here",
        )
    ]


def test_the_memory_that_it_saves_all_the_same_is_said() -> None:
    loop, less = figures(0.49, memory=100 << 20), figures(0.60, memory=20 << 20)
    ((_, text),) = said(case(loop, full=less))
    assert text.endswith("saves no time here, but memory: 20 MiB under full where the loop needs 100 MiB")
    ((_, text),) = said(case(loop, full=replace(less, temp_bytes=95 << 20)))
    assert text.endswith("saves no time here, and no memory")


def test_a_step_that_is_slower_and_layers_that_are_tiny() -> None:
    loop = figures(step=0.001, flops=4000)
    text = "4 layers: a step of the loop takes 1 ms, one of the scan (none) 3 ms, 3.00 times as long"
    tiny = "; a layer is only 1,000 operations, forward and backward, which do not pay for a turn of a loop"
    assert said(case(loop, none=figures(step=0.003))) == [("step", f"{text}{tiny}; {KEPT}")]
    assert said(case(replace(loop, flops=4_000_000_000), none=figures(step=0.003))) == [("step", f"{text}; {KEPT}")]


def test_a_call_that_is_slower_is_told_with_what_to_do() -> None:
    loop = replace(figures(step=0.002), call_seconds=0.001)
    scan = replace(figures(step=0.001), call_seconds=0.00106)
    assert said(case(loop, none=scan)) == [
        ("call", f"4 layers: a call of the loop takes 1 ms, one of the scan (none) 1.06 ms, 1.06 times as long; {KEPT}")
    ]
    assert said(case(loop, none=replace(scan, call_seconds=0.00105))) == []


def test_what_remat_costs_is_not_taken_for_what_scanning_costs() -> None:
    loop = figures(1.0, 0.010)
    assert said(case(loop, full=figures(0.5, 0.014), none=figures(0.5, 0.010))) == []


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(case(figures(1.0, 1.0), none=figures(0.5, 1.05)), id="faster to compile, as fast to run"),
        pytest.param(case(figures(), none=figures(0.5, 0.5)), id="a loop that was not measured"),
        pytest.param(case(figures(0.1, 0.1)), id="no scan"),
        pytest.param(case(figures(0.1, 0.1), none=figures()), id="a scan that was not measured"),
        pytest.param(CaseResult("c", error="it died"), id="a case that could not run"),
    ],
)
def test_there_is_nothing_to_say_on(given: CaseResult) -> None:
    assert said(given) == []


def test_numbers_of_layers() -> None:
    scan = {"none": figures(2.0)}
    assert said(case(figures(1.0), 1, **scan))[0][1].startswith("1 layer: the loop")
    assert said(case(figures(1.0), None, **scan))[0][1].startswith("the loop")


times = st.none() | st.floats(1e-6, 1e3)
measurements = st.builds(
    figures, times, times, st.none() | st.integers(0, 1 << 40), st.none() | st.integers(0, 1 << 50)
)
cases = st.builds(
    lambda loop, scans, layers: case(loop, layers, **scans),
    measurements,
    st.dictionaries(st.sampled_from(["none", "full", "nested"]), measurements),
    st.none() | st.integers(1, 100),
)


@given(cases)
def test_advice_is_given_only_on_figures_that_bear_it_out(one: CaseResult) -> None:
    kinds = {each.kind: each for each in advise([one])}
    builds = [p.measured.build_seconds for p in one.policies if p.measured.build_seconds is not None]
    steps = [p.measured.step_seconds for p in one.policies if p.measured.step_seconds is not None]
    loop = one.original
    assert ("build" in kinds) == bool(builds and loop.build_seconds and min(builds) >= 0.9 * loop.build_seconds)
    assert ("step" in kinds) == bool(steps and loop.step_seconds and min(steps) > 1.05 * loop.step_seconds)


def test_this_would_see_the_slowest_scan_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adviser, "min", max, raising=False)
    with pytest.raises(AssertionError):
        test_what_remat_costs_is_not_taken_for_what_scanning_costs()


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.1, "0.1 s"), (0.0321, "32.1 ms"), (85e-6, "85 us"), (1e-8, "0.01 us")]
)
def test_seconds_are_shown_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert in_seconds(seconds) == text
