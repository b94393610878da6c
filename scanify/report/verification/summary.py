"""One-line summary of a verification, the same in every format."""

from collections.abc import Sequence

from scanify.verify.verdict import CaseResult, Status, Verdict, Verification

_NAMES = 5


def summary(verification: Verification) -> tuple[str, str]:
    """Return PROVED, VERIFIED (in part by tests), FAILED or NOT VERIFIED, and the rest of the summary."""
    cases = verification.cases
    unshown = "".join(f"; {each}" for each in (verification.not_shown, verification.held_back) if each)
    bad = [case for case in cases if not case.good]
    if not cases:
        return "NOT VERIFIED", "there was no case"
    if bad:
        failed = any(verdict.status is Status.FAILED for case in bad for verdict in verdicts(case))
        noun = "variant" if any(case.variant for case in cases) else "case"
        return "FAILED" if failed else "NOT VERIFIED", f"{len(bad)} of {count(len(cases), noun)}: {_names(bad)}"
    policies = len({policy.policy for case in cases for policy in case.policies if not policy.unsupported})
    without = sorted({policy.policy for case in cases for policy in case.policies if policy.unsupported})
    scope = f"{_scope(cases)}, {count(policies, 'remat policy')}{_without(without)}"
    tested = sum(verdict.status is Status.TESTED for case in cases for verdict in verdicts(case))
    if tested:
        every = sum(len(verdicts(case)) for case in cases)
        counted = f"{every - tested} of {every} verdicts proved, {tested} tested numerically"
        return "VERIFIED", f"{scope}: {counted}{_provided(cases)}{unshown}"
    return "PROVED", f"{scope}: equal for all inputs of these shapes and dtypes{_provided(cases)}{unshown}"


def _provided(cases: Sequence[CaseResult]) -> str:
    """The conditions under which the result holds, with the number of cases if a condition does not apply to all."""
    found = dict.fromkeys(case.proviso for case in cases if case.proviso)
    said = []
    for proviso in found:
        number = sum(case.proviso == proviso for case in cases)
        said.append(proviso if number == len(cases) else f"{proviso} in {number} of them")
    return f", {'; '.join(said)}" if said else ""


def _without(policies: Sequence[str]) -> str:
    return f" (not {', '.join(policies)}, which jax cannot do for every case)" if policies else ""


def once(case: CaseResult) -> tuple[tuple[str, Verdict], ...]:
    """Return the verdicts that apply to all policies at once, by name; those that do not apply are left out."""
    named = (
        ("depth", case.depth),
        ("parameters", case.parameters),
        ("tangents", case.tangents),
        ("batched", case.batched),
        ("keys", case.keys),
        ("updates", case.updates),
        ("training", case.training),
    )
    return tuple((name, verdict) for name, verdict in named if verdict is not None)


def verdicts(case: CaseResult) -> list[Verdict]:
    """Return every verdict of the case except a successful training, whose losses can only be TESTED."""
    shown = (policy for policy in case.policies if not policy.unsupported)
    both = [verdict for policy in shown for verdict in (policy.outputs, policy.gradients)]
    trained = case.training if case.training is not None and case.training.good else None
    return [*(verdict for _, verdict in once(case) if verdict is not trained), *both]


def arguments(case: CaseResult) -> str:
    """Describe the variant: `batch=4, seq=16`."""
    return ", ".join(f"{name}={value}" for name, value in case.variant)


def title(case: CaseResult) -> str:
    """`cases.py:gpt`, or `cases.py:gpt (batch=4, seq=16)` for a variant."""
    return f"{case.case} ({arguments(case)})" if case.variant else case.case


def about(case: CaseResult) -> str:
    """Describe the case: its variant, its layers, its conditions, and whether the result was cached."""
    parts = [arguments(case)] if case.variant else []
    parts += [layers(case)] if case.layers is not None else []
    parts += [case.proviso] if case.proviso else []
    parts += ["kept from an earlier run"] if case.cached else []
    return "; ".join(parts)


def layers(case: CaseResult) -> str:
    """Describe how many layers ran: `6 layers`, `2 loops of 4 and 8 layers`."""
    ran = [run.iterations for run in case.loops if run.iterations is not None]
    if len(ran) < 2:
        return count(case.layers or 0, "layer")
    numbers = [f"{each:,}" for each in ran] if len(ran) <= _NAMES else [f"{min(ran):,} to {max(ran):,}"]
    listed = " and ".join([", ".join(numbers[:-1]), numbers[-1]] if len(numbers) > 1 else numbers)
    return f"{count(len(ran), 'loop')} of {listed} layers"


def ran_on(verification: Verification) -> str:
    """Describe the versions and the total time of all cases: `python 3.11.7, jax 0.10.2; 12.3 s`."""
    ran = ", ".join(f"{name} {version}" for name, version in verification.versions)
    total = sum(seconds for case in verification.cases for step, seconds in case.seconds if step == "total")
    return f"{ran}{'; ' if ran else ''}{in_seconds(total)}"


def count(number: int, noun: str) -> str:
    """`1 policy`, `2 policies`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def in_seconds(seconds: float) -> str:
    """Format to about three digits: `0.61 s`, `63.1 s`, `612 s`."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s" if seconds < 100 else f"{seconds:,.0f} s"


def _scope(cases: Sequence[CaseResult]) -> str:
    if not any(case.variant for case in cases):
        return count(len(cases), "case")
    return f"{count(len({case.case for case in cases}), 'case')} in {count(len(cases), 'variant')}"


def _names(cases: Sequence[CaseResult]) -> str:
    more = f" and {len(cases) - _NAMES} more" if len(cases) > _NAMES else ""
    return ", ".join(title(case) for case in cases[:_NAMES]) + more
