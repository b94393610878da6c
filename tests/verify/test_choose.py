"""Choosing a policy: the cheapest that fits, never one that was not shown to be right."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.verify.measure import choose as chooser
from scanify.verify.measure.choose import Candidate, Choice, choose
from scanify.verify.verdict import CaseResult, Measurement, PolicyResult, Status, Verdict

PROVED, TESTED = Verdict(Status.PROVED), Verdict(Status.TESTED, "1 ulp apart")
FAILED, NOT_RUN = Verdict(Status.FAILED, "differs"), Verdict(Status.NOT_RUN, "no values")
NAMES = ("none", "full", "nested", "offload", "save_all", "dots")


def policy(
    name: str, flops: int | None, needed: int | None, *, moved: int = 0, host: int = 0, backend: str = "gpu"
) -> PolicyResult:
    parts = (None, None, None) if needed is None else (needed // 2, 0, needed - needed // 2)
    figures = Measurement(
        argument_bytes=parts[0],
        output_bytes=parts[1],
        temp_bytes=parts[2],
        backend=backend,
        host_bytes=host,
        flops=flops,
        moved_bytes=moved,
    )
    return PolicyResult(name, PROVED, PROVED, figures)


def case(*policies: PolicyResult, name: str = "cases.py:gpt") -> CaseResult:
    return CaseResult(name, PROVED, policies)


CHEAP, SMALL = policy("none", 10, 100), policy("full", 20, 10)

# Each holds one part of the choice: `(cases, budget, the policy to choose)`.
EXAMPLES: dict[str, tuple[list[CaseResult], int | None, str | None]] = {
    "without a budget the fewest operations": ([case(SMALL, CHEAP)], None, "none"),
    "what needs more than the budget does not fit": ([case(CHEAP, SMALL)], 99, "full"),
    "what needs as much as the budget fits": ([case(CHEAP, SMALL)], 100, "none"),
    "nothing fits": ([case(CHEAP, SMALL)], 9, None),
    "outputs that differ": ([case(replace(CHEAP, outputs=FAILED), SMALL)], None, "full"),
    "outputs that differ, and no other policy": ([case(replace(CHEAP, outputs=FAILED))], None, None),
    "gradients that were not compared": ([case(replace(CHEAP, gradients=NOT_RUN), SMALL)], None, "full"),
    "a finding": ([case(replace(CHEAP, findings=("no remat",)), SMALL)], None, "full"),
    "a case that fails for all policies": ([case(CHEAP), replace(case(CHEAP), findings=("not scanned",))], None, None),
    "a case that could not run": ([case(CHEAP), CaseResult("other", error="it died")], None, None),
    "a tested one loses to a proved one": ([case(replace(CHEAP, outputs=TESTED), SMALL)], None, "full"),
    "a tested one alone": ([case(replace(CHEAP, outputs=TESTED))], None, "none"),
    "the case that needs most": ([case(policy("none", 10, 10), SMALL), case(CHEAP, SMALL)], 50, "full"),
    "operations of all cases": (
        [case(policy("none", 1, 1), policy("dots", 2, 1)), case(policy("none", 9, 1), policy("dots", 1, 1))],
        None,
        "dots",
    ),
    "a copy to host memory and back is a cost": (
        [case(policy("offload", 20, 1, moved=8, host=8), SMALL)],
        None,
        "full",
    ),
    "offloading where only that fits": ([case(policy("offload", 20, 1, moved=8, host=8), SMALL)], 5, "offload"),
    "offloading on a CPU": ([case(policy("offload", 20, 1, moved=8, host=8, backend="cpu"))], None, None),
    "offloading that keeps nothing in host memory": ([case(policy("offload", 20, 1, moved=8))], None, None),
    "the same operations in less memory": ([case(CHEAP, policy("save_all", 10, 50))], None, "save_all"),
    "the first of equals": ([case(CHEAP, replace(CHEAP, policy="save_all"))], None, "none"),
    "memory that is not known does not fit": ([case(policy("none", 10, None), SMALL)], 50, "full"),
    "memory that is not known for any": ([case(policy("none", 10, None))], 50, None),
    "memory does not matter without a budget": ([case(policy("none", 10, None), SMALL)], None, "none"),
    "no gradient": ([case(policy("none", None, None))], None, None),
    "a policy that one case did not run": ([case(CHEAP, SMALL), case(SMALL)], None, "full"),
    "no case": ([], None, None),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    cases, budget, expected = EXAMPLES[name]
    assert choose(cases, budget).policy == expected


def without(*parts: int) -> property:
    """The cost, without the given ones of its parts."""

    def cost(self: Candidate) -> tuple[float, ...]:
        needed = float("inf") if self.needed is None else self.needed
        every = (not self.proved, self.flops or 0, self.moved or 0, needed)
        return tuple(part for at, part in enumerate(every) if at not in parts)

    return property(cost)


MUTANTS: dict[str, tuple[object, str, object]] = {
    "outputs that differ, and no other policy": (chooser, "_barred", lambda case, result: ""),
    "a finding": (chooser, "_barred", lambda case, result: "" if result.outputs.good else "bad"),
    "what needs more than the budget does not fit": (Candidate, "fits", lambda self, budget: not self.barred),
    "memory that is not known does not fit": (
        Candidate,
        "fits",
        lambda self, budget: not self.barred and (budget is None or (self.needed or 0) <= budget),
    ),
    "a tested one loses to a proved one": (Candidate, "cost", without(0)),
    "without a budget the fewest operations": (Candidate, "cost", without(1)),
    "a copy to host memory and back is a cost": (Candidate, "cost", without(2)),
    "the same operations in less memory": (Candidate, "cost", without(3)),
    "the case that needs most": (chooser, "_most", min),
    "operations of all cases": (chooser, "_total", lambda figures: figures[0]),
    "offloading on a CPU": (chooser, "_offloads", lambda measured: bool(measured.host_bytes)),
    "offloading that keeps nothing in host memory": (chooser, "_offloads", lambda measured: measured.backend != "cpu"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_example_would_catch_a_wrong_chooser(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, attribute, wrong = MUTANTS[name]
    monkeypatch.setattr(where, attribute, wrong)
    cases, budget, expected = EXAMPLES[name]
    assert choose(cases, budget).policy != expected


verdicts = st.sampled_from([PROVED, PROVED, PROVED, TESTED, FAILED, NOT_RUN])
small = st.integers(0, 6)  # so that there are ties


@st.composite
def runs(draw: Callable[..., object]) -> list[CaseResult]:
    """One to three cases with the same policies, each policy with figures and verdicts of its own."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    assert isinstance(names, list)

    def result(name: str) -> PolicyResult:
        backend = draw(st.sampled_from(["cpu", "gpu"]))
        figures = policy(
            name, draw(small), draw(st.none() | small), moved=draw(small), host=draw(small), backend=backend
        )  # type: ignore[arg-type]
        findings = draw(st.sampled_from([(), (), (), ("f",)]))
        return replace(figures, outputs=draw(verdicts), gradients=draw(verdicts), findings=findings)  # type: ignore[arg-type]

    return [case(*map(result, names), name=f"c{at}") for at in range(draw(st.integers(1, 3)))]  # type: ignore[arg-type]


def the(choice: Choice) -> Candidate:
    return next(each for each in choice.candidates if each.policy == choice.policy)


@given(runs(), st.none() | st.integers(0, 8))
def test_what_is_chosen_is_right_in_every_case_and_fits(cases: list[CaseResult], budget: int | None) -> None:
    choice = choose(cases, budget)
    if choice.policy is None:
        return
    for each in cases:
        (result,) = [one for one in each.policies if one.policy == choice.policy]
        assert result.outputs.good and result.gradients.good and not result.findings
        assert budget is None or (result.measured.needed_bytes is not None and result.measured.needed_bytes <= budget)
        assert choice.policy != "offload" or result.measured.backend != "cpu"


@given(runs(), st.integers(0, 8), st.integers(0, 8))
@pytest.mark.whole
def test_a_larger_budget_never_costs_more(cases: list[CaseResult], one: int, other: int) -> None:
    tight, wide = choose(cases, min(one, other)), choose(cases, max(one, other))
    assert tight.policy is None or (wide.policy is not None and the(wide).cost <= the(tight).cost)
    free = choose(cases, None)
    assert wide.policy is None or (free.policy is not None and the(free).cost <= the(wide).cost)


@given(runs(), st.integers(0, 8))
def test_nothing_is_chosen_only_where_nothing_right_fits(cases: list[CaseResult], budget: int) -> None:
    choice = choose(cases, budget)
    assert (choice.policy is None) == (not any(each.fits(budget) for each in choice.candidates))


@given(runs(), st.none() | st.integers(0, 8))
@pytest.mark.whole
def test_every_policy_is_told_of(cases: list[CaseResult], budget: int | None) -> None:
    choice = choose(cases, budget)
    if choice.policy is not None or "fits into" in choice.why:
        assert all(each.policy in choice.why for each in choice.candidates)


def test_the_figures_are_in_the_words() -> None:
    policies = [policy(name, flops, mib << 20) for name, flops, mib in [("none", 30, 300), ("full", 40, 30)]]
    failed = replace(policy("dots", 35, 1), gradients=FAILED)
    assert choose([case(*policies, failed)], 100 << 20).why == (
        "remat 'full' is the cheapest of those that fit into 100 MiB: its gradient needs 30 MiB on gpu and takes "
        "1.33 times the operations of 'none', which takes the fewest. The others: none 300 MiB, 1.00 times (does not "
        "fit); dots cannot be chosen (gradients FAILED)."
    )
    assert choose([case(*policies)], 10 << 20).why == (
        "no remat policy fits into 10 MiB: remat 'full' needs the least, 30 MiB on gpu. The others: none 300 MiB, "
        "1.00 times (does not fit). Raise the budget, or give the case a smaller batch."
    )
    assert choose([case(*policies)]).why == (
        "remat 'none' is the cheapest of all: its gradient needs 300 MiB on gpu and takes the fewest operations. "
        "The others: full 30 MiB, 1.33 times."
    )


def test_it_is_said_that_the_choice_is_not_proved() -> None:
    tested = replace(SMALL, gradients=TESTED)
    assert "None that fits is proved, and this one was tested numerically." in choose([case(CHEAP, tested)], 50).why
    assert "tested" not in choose([case(CHEAP, SMALL)], 50).why


def test_which_case_bars_a_policy_is_said() -> None:
    variant = replace(case(replace(CHEAP, outputs=FAILED), SMALL), variant=(("batch", "2"),))
    assert (
        "none cannot be chosen (outputs FAILED in cases.py:gpt (batch=2))" in choose([case(CHEAP, SMALL), variant]).why
    )


def test_why_there_is_no_choice() -> None:
    assert choose([CaseResult("c", error="it died")]).why == "no remat policy can be chosen: c could not be run"
    assert "none: outputs FAILED" in choose([case(replace(CHEAP, outputs=FAILED))]).why
    assert "this backend does not tell it" in choose([case(policy("none", 10, None))], 5).why
