"""Choose a remat policy by the measurements of cases: the cheapest that fits into a budget of device memory.

The cost of a policy is its recomputation, so policies are ordered by the operations of the gradient
(`scanify.verify.measure.work`), which do not depend on the load of the machine, and not by seconds; then by the bytes
copied to host memory and back; then by the device memory needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scanify.verify.children.limits import human_bytes
from scanify.verify.verdict import CaseResult, Measurement, PolicyResult, Status

_OFFLOAD = "offload"
Cost = tuple[bool, int, int, float]


@dataclass(frozen=True)
class Candidate:
    """The cost of one policy over all cases.

    `flops` and `moved` are sums over the cases, `needed` the most device memory that any of them needs; None: not
    measured. `proved`: every verdict is PROVED. `barred` is the reason why the policy cannot be chosen, "" if it can.
    """

    policy: str
    proved: bool = False
    flops: int | None = None
    moved: int | None = None
    needed: int | None = None
    barred: str = ""

    @property
    def cost(self) -> Cost:
        """Return the cost, less is better: proved before tested, then operations, host transfers, device memory."""
        needed = float("inf") if self.needed is None else float(self.needed)
        return (not self.proved, self.flops or 0, self.moved or 0, needed)

    def fits(self, budget: int | None) -> bool:
        """Return True if it may be chosen and is known to need at most `budget` bytes; None is an unlimited budget."""
        return not self.barred and (budget is None or (self.needed is not None and self.needed <= budget))


@dataclass(frozen=True)
class Choice:
    """The chosen policy, None without one, and the reason, as one paragraph."""

    policy: str | None
    why: str
    candidates: tuple[Candidate, ...] = ()


def choose(cases: Sequence[CaseResult], budget: int | None = None) -> Choice:
    """Choose the cheapest policy that every case has shown to be right and that fits into `budget` bytes of device
    memory.

    The memory is that of the compiled gradient on the backend of the cases: arguments (parameters and inputs), outputs
    (gradients among them) and temporaries. The state of an optimizer is not included. If several policies cost the
    same, the first in the order of the cases' results is chosen.
    """
    names = list(dict.fromkeys(result.policy for case in cases for result in case.policies))
    candidates = tuple(candidate(name, cases) for name in names)
    able = [each for each in candidates if not each.barred]
    fitting = [each for each in able if each.fits(budget)]
    if fitting:
        best = min(fitting, key=lambda each: each.cost)
        return Choice(best.policy, _chosen(best, candidates, budget, _backend(cases)), candidates)
    if any(each.needed is not None for each in able):
        assert budget is not None
        return Choice(None, _nothing_fits(candidates, budget, _backend(cases)), candidates)
    return Choice(None, _nothing_able(candidates, able, cases), candidates)


def candidate(policy: str, cases: Sequence[CaseResult]) -> Candidate:
    """Return the cost of `policy` over all `cases`, or why it cannot be chosen."""
    results = [(case, next((each for each in case.policies if each.policy == policy), None)) for case in cases]
    for case, result in results:
        barred = "was not run" if result is None else _barred(case, result)
        if barred:
            where = f" in {case.name}" if len(cases) > 1 else ""
            return Candidate(policy, barred=f"{barred}{where}")
    found = [result for _, result in results if result is not None]
    figures = [result.measured for result in found]
    return Candidate(
        policy,
        all(result.outputs.status is result.gradients.status is Status.PROVED for result in found),
        _total([each.flops for each in figures]),
        _total([each.moved_bytes for each in figures]),
        _most([each.needed_bytes for each in figures]),
    )


def _barred(case: CaseResult, result: PolicyResult) -> str:
    """Return why a policy cannot be chosen by this case, "" if it can."""
    if not replace(case, policies=(result,)).good:
        wrong = {"outputs": result.outputs, "gradients": result.gradients}
        said = [f"{what} {verdict.status.value}" for what, verdict in wrong.items() if not verdict.good]
        return ", ".join(said) or (result.findings[0] if result.findings else "the verification failed")
    if result.measured.flops is None:
        return "no gradient was measured"
    if result.policy == _OFFLOAD and not _offloads(result.measured):
        return f"nothing goes to host memory on {result.measured.backend or 'this backend'}"
    return ""


def _offloads(measured: Measurement) -> bool:
    """True if the compiled program keeps anything in host memory. On a CPU there is no other memory."""
    return measured.backend != "cpu" and bool(measured.host_bytes)


def _total(figures: Sequence[int | None]) -> int | None:
    known = [each for each in figures if each is not None]
    return sum(known) if len(known) == len(figures) else None


def _most(figures: Sequence[int | None]) -> int | None:
    known = [each for each in figures if each is not None]
    return max(known) if known and len(known) == len(figures) else None


def _backend(cases: Sequence[CaseResult]) -> str:
    found = {each.measured.backend for case in cases for each in case.policies if each.measured.backend is not None}
    return f" on {' and '.join(sorted(found))}" if found else ""


def _chosen(best: Candidate, candidates: Sequence[Candidate], budget: int | None, backend: str) -> str:
    least = _least(candidates)
    among = "all" if budget is None else f"those that fit into {human_bytes(budget)}"
    fits = "" if best.needed is None else f"its gradient needs {human_bytes(best.needed)}{backend} and takes "
    if best.flops == least.flops:
        fits = f"{fits or 'its gradient takes '}the fewest operations."
    else:
        times = f"{_times(best, least)} the operations of {least.policy!r}, which takes the fewest."
        fits = f"{fits or 'its gradient takes '}{times}"
    return (
        f"remat {best.policy!r} is the cheapest of {among}: {fits}{_unproved(best)}{_others(best, candidates, budget)}"
    )


def _least(candidates: Sequence[Candidate]) -> Candidate:
    return min((each for each in candidates if not each.barred), key=lambda each: each.flops or 0)


def _others(best: Candidate, candidates: Sequence[Candidate], budget: int | None) -> str:
    told = [_told(each, budget, _least(candidates)) for each in candidates if each is not best]
    return f" The others: {'; '.join(told)}." if told else ""


def _unproved(best: Candidate) -> str:
    return "" if best.proved else " None that fits is proved, and this one was tested numerically."


def _told(each: Candidate, budget: int | None, least: Candidate) -> str:
    if each.barred:
        return f"{each.policy} cannot be chosen ({each.barred})"
    needs = "not measured" if each.needed is None else f"{human_bytes(each.needed)}"
    state = [] if each.fits(budget) else ["does not fit" if each.needed is not None else "not known to fit"]
    state += [] if each.proved else ["not proved"]
    return f"{each.policy} {needs}, {_times(each, least)}" + (f" ({', '.join(state)})" if state else "")


def _times(each: Candidate, least: Candidate) -> str:
    return f"{(each.flops or 0) / least.flops:.2f} times" if least.flops else "1.00 times"


def _nothing_fits(candidates: Sequence[Candidate], budget: int, backend: str) -> str:
    known = [each for each in candidates if not each.barred and each.needed is not None]
    best = min(known, key=lambda each: (each.needed or 0, each.cost))
    return (
        f"no remat policy fits into {human_bytes(budget)}: remat {best.policy!r} needs the least, "
        f"{human_bytes(best.needed or 0)}{backend}.{_others(best, candidates, budget)} Raise the budget, or give the "
        "case a smaller batch."
    )


def _nothing_able(candidates: Sequence[Candidate], able: Sequence[Candidate], cases: Sequence[CaseResult]) -> str:
    if able:  # they are right, but their memory is not known
        return "the memory of no policy was measured, so none is known to fit: this backend does not tell it"
    errors = [case.name for case in cases if case.error is not None]
    if errors or not cases:
        return f"no remat policy can be chosen: {', '.join(errors) or 'no case'} could not be run"
    return f"no remat policy can be chosen: {'; '.join(f'{each.policy}: {each.barred}' for each in candidates)}"
