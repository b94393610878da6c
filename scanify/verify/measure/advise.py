"""Advise against scanning by measurements: if a scan compiles no faster than its loop, or runs slower.

With few layers a scan takes as long to compile as the loop, or longer: XLA optimises small programs quickly, and a scan
has its own loop to compile. With tiny layers the overhead of an iteration exceeds its computation, mostly on GPUs
(jax#16611). Advice changes no verdict.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scanify.verify.children.limits import human_bytes
from scanify.verify.measure.pace import KEPT, SLOWER, in_seconds
from scanify.verify.verdict import Advice, CaseResult, Measurement

# Seconds that were measured once are not conclusive below this share of a difference.
_CLEARLY = 0.1
# Loops of fewer operations a layer than this, forward and backward, are called tiny if they were found to be slow.
_TINY = 1_000_000


@dataclass(frozen=True)
class _Scan:
    policy: str
    figures: Measurement


def advise(cases: Sequence[CaseResult]) -> tuple[Advice, ...]:
    """Return the advice from the figures of the cases (`scanify.verify.measure.timing`); () without any.

    The loop is compared with the fastest of the measured policies, so that the cost of remat does not count as the cost
    of scanning.
    """
    return tuple(each for case in cases for each in (_build(case), _call(case), _step(case)) if each is not None)


def _fastest(case: CaseResult, seconds: Callable[[Measurement], float | None]) -> tuple[float, float, _Scan] | None:
    """Return the loop's seconds, the fastest scan's, and that scan; None if either is unknown."""
    loop = seconds(case.original)
    found = [(taken, each) for each in case.policies if (taken := seconds(each.measured)) is not None]
    if loop is None or not found:
        return None
    taken, best = min(found, key=lambda one: one[0])
    return loop, taken, _Scan(best.policy, best.measured)


def _build(case: CaseResult) -> Advice | None:
    found = _fastest(case, lambda figures: figures.build_seconds)
    if found is None or found[1] < (1 - _CLEARLY) * found[0]:
        return None
    loop, scan, best = found
    text = (
        f"{_layers(case)}the loop is traced and compiled in {in_seconds(loop)}, the scan ({best.policy}) in "
        f"{in_seconds(scan)}; scanning saves no time here{_memory(case)}"
    )
    return Advice(case.name, "build", text)


def _call(case: CaseResult) -> Advice | None:
    """Compare the call alone, as in inference: decoding one token computes little with each parameter that it reads."""
    return _run(case, "call", "a call", lambda figures: figures.call_seconds)


def _step(case: CaseResult) -> Advice | None:
    return _run(case, "step", "a step", lambda figures: figures.step_seconds, _body(case))


def _run(
    case: CaseResult, kind: str, what: str, seconds: Callable[[Measurement], float | None], why: str = ""
) -> Advice | None:
    found = _fastest(case, seconds)
    if found is None or found[1] <= (1 + SLOWER) * found[0]:
        return None
    loop, scan, best = found
    text = (
        f"{_layers(case)}{what} of the loop takes {in_seconds(loop)}, one of the scan ({best.policy}) "
        f"{in_seconds(scan)}, {scan / loop:.2f} times as long{why}; {KEPT}"
    )
    return Advice(case.name, kind, text)


def _layers(case: CaseResult) -> str:
    if case.layers is None:
        return ""
    return f"{case.layers} layer{'' if case.layers == 1 else 's'}: "


def _memory(case: CaseResult) -> str:
    """Describe the memory that the scan saves, which may be the reason for it."""
    known = [(each.measured.needed_bytes, each.policy) for each in case.policies]
    found = [(needed, policy) for needed, policy in known if needed is not None]
    loop = case.original.needed_bytes
    if loop is None or not found:
        return ""
    needed, policy = min(found)
    if needed > (1 - _CLEARLY) * loop:
        return ", and no memory"
    return f", but memory: {human_bytes(needed)} under {policy} where the loop needs {human_bytes(loop)}"


def _body(case: CaseResult) -> str:
    """Return a remark if the layers are tiny."""
    if case.layers is None or case.original.flops is None:
        return ""
    each = case.original.flops // max(1, case.layers)
    if each >= _TINY:
        return ""
    return f"; a layer is only {each:,} operations, forward and backward, which do not pay for a turn of a loop"
