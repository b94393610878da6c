"""The losses of both versions while they are trained: the rows of a table."""

from scanify.verify.training.losses import Losses, Step

HEADINGS = ("step", "original", "rewritten", "difference")
# How many steps a table shows beside the worst one; JSON has all.
_SHOWN = 20
_FEW = 64


def heading(found: Losses) -> str:
    """`losses of 10 steps: the output, SGD (rate 0.01)`, and how many of the steps are shown if not all."""
    count, shown = len(found.steps), len(_chosen(found))
    some = f" ({shown} of them are shown)" if shown < count else ""
    return f"losses of {count:,} step{'s' if count > 1 else ''}{some}: {found.loss}, {found.optimizer}"


def rows(found: Losses) -> list[tuple[str, ...]]:
    """The shown steps, in the order of `HEADINGS`."""
    return [
        (f"{at + 1:,}", *(f"{loss:.{found.digits}g}" for loss in (step.before, step.after)), _difference(step))
        for at, step in ((at, found.steps[at]) for at in _chosen(found))
    ]


def _chosen(found: Losses) -> list[int]:
    """The places of the shown steps: every one, or some that are as far apart, and the one that differs most."""
    count = len(found.steps)
    if count <= _SHOWN:
        return list(range(count))
    worst = max(range(count), key=lambda at: (not found.steps[at].equal, found.steps[at].relative))
    return sorted({worst, *(at * (count - 1) // (_SHOWN - 1) for at in range(_SHOWN))})


def _difference(step: Step) -> str:
    if step.equal:
        return "equal"
    few = f"{step.ulp} ulp, " if step.ulp is not None and 0 < step.ulp <= _FEW else ""
    return f"{few}{step.relative:.2g}"
