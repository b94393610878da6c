"""The training losses of both versions, as rows of a table."""

from scanify.verify.training.losses import Losses, Step

HEADINGS = ("step", "original", "rewritten", "difference")
# The number of steps that a table shows besides the worst one; JSON has all.
_SHOWN = 20
_FEW = 64


def heading(found: Losses) -> str:
    """`losses of 10 steps: the output, SGD (rate 0.01)`, with the number of steps shown if not all are."""
    count, shown = len(found.steps), len(_chosen(found))
    some = f" ({shown} of them are shown)" if shown < count else ""
    return f"losses of {count:,} step{'s' if count > 1 else ''}{some}: {found.loss}, {found.optimizer}"


def rows(found: Losses) -> list[tuple[str, ...]]:
    """Return the shown steps, with the columns of `HEADINGS`."""
    return [
        (f"{at + 1:,}", *(f"{loss:.{found.digits}g}" for loss in (step.before, step.after)), _difference(step))
        for at, step in ((at, found.steps[at]) for at in _chosen(found))
    ]


def _chosen(found: Losses) -> list[int]:
    """Indices of the steps to show: all, or an even selection and the step with the largest difference."""
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
