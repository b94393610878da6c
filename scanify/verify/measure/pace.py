"""The run time of a case against its loop, timed in passing: figures for a remark, which no verdict depends on."""

from dataclasses import dataclass

# Runs alternate, often, so that their medians are more reliable.
SLOWER = 0.05
KEPT = (
    "to keep a loop, write `# scanify: ignore` behind its head: its list stays a list, and other loops over it stack "
    "it when they are called"
)
UNTIMED_AGAIN = "this result is kept from an earlier run"


@dataclass(frozen=True)
class Pace:
    """Median seconds of one run of the `loop` and of its `scan` as written, alternating; None: not timed, for the
    reason `untimed`.

    `what` was run: "call", as in inference, or "step", with its gradient. `operations` is how often the scan computes
    what the loop computes once, more than 1.0 if it recomputes for the backward pass.
    """

    what: str
    loop: float | None = None
    scan: float | None = None
    operations: float | None = None
    untimed: str = ""


def remark(pace: Pace) -> str:
    """Return a remark on it; "" if the scan is not slower."""
    if pace.loop is None or pace.scan is None:
        return f"the {pace.what} was not timed, as {pace.untimed}; `--advise` times the loop and its scan"
    if pace.scan <= (1 + SLOWER) * pace.loop:
        return ""
    times = f"{pace.scan / pace.loop:.2f} times as long"
    text = f"slower: the {pace.what} takes {in_seconds(pace.scan)}, that of the loop {in_seconds(pace.loop)}, {times}"
    if pace.operations is not None and pace.operations > 1 + SLOWER:
        remat = f"of which {pace.operations:.2f} times the operations are what remat computes again"
        return f"{text}, {remat}; `--remat none` keeps what the loop keeps"
    return f"{text}; {KEPT}. `--advise` times it more carefully"


def in_seconds(seconds: float) -> str:
    """Return `0.49 s`, `3.21 ms`, `85 us`: three digits, in the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.1 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
