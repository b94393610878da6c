"""Both versions of a case trained for some steps from the same parameters on the same data: are their losses equal?

Two programs may round differently though they are proved equal, and training carries the difference on. So losses may
be apart by what is allowed of values that are tested: 1e-12 of a loss in float64, the rounding of the coarsest dtype
of a step in the model's own dtypes, or several times what one more rounding of the first parameters and data does to
the losses of the original, if that is more. From where on that is too much to tell by, nothing is shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Case, build
from scanify.verify.cases.case import CaseError
from scanify.verify.children.telling import tell
from scanify.verify.compare.execute import LOOSEST_COARSE
from scanify.verify.leaves.correspond import Mismatch
from scanify.verify.linen.align import aligned
from scanify.verify.programs.precision import full_precision
from scanify.verify.proof.attempt import Files, rewritten
from scanify.verify.proof.words import raised
from scanify.verify.training.losses import Losses, Step
from scanify.verify.training.train import RATE, Training
from scanify.verify.values.figures import Distance, distances
from scanify.verify.values.numeric import LOOSE, LOOSEST, SHAKEN, tells, widened
from scanify.verify.values.points import shaken
from scanify.verify.values.tolerances import COARSE, EXACT, limit_of, narrower, rounding_size
from scanify.verify.verdict import CaseResult, Status, Verdict

_DIGITS = {"float64": 17, "float32": 9, "float16": 5, "bfloat16": 4}


def trained_case(
    name: str, before: Case, after: Case, *, steps: int, files: Files | None = None, **unused: Any
) -> CaseResult:
    """The losses of both versions, the rewritten one as it is written, and the verdict on them, never PROVED.

    A comparer of `scanify.verify.run.verify` that compares nothing else. Raises ScanifyError if the versions do not
    match, or the case's loss is none.
    """
    tell("build")
    first = build(before, abstract=False)
    second = rewritten("cannot be built", lambda: build(after, abstract=False), files)
    if isinstance(second, Verdict):
        return CaseResult(name, training=second)
    loop = aligned(before, first, second, abstract=False)
    if isinstance(loop, Mismatch):
        raise ScanifyError(f"the models have different structures: {loop}")
    loss = getattr(before, "loss", None)
    both = Training("the original", loop, loss), Training("the rewritten version", second, loss)
    with full_precision():
        verdict, losses = _SideBySide(*both, steps, files).compared()
    return CaseResult(name, training=verdict, losses=losses)


@dataclass(frozen=True, eq=False)
class _Curves:
    """The losses of both versions in one width of floats. `limit` is the tolerance of a loss, before that of noise."""

    before: list[Any]
    after: list[Any]
    limit: float
    apart: list[Distance] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "apart", _apart(self.before, self.after))

    @property
    def most(self) -> float:
        """The tolerance beyond which a comparison says nothing any more."""
        return LOOSEST_COARSE if self.limit >= COARSE else max(LOOSEST, self.limit)

    def said(self) -> str:
        worst = max(self.apart, key=lambda each: (not each.bitwise, each.relative))
        if worst.bitwise:
            return "bit for bit equal"
        ulp = max((each.ulp for each in self.apart if each.ulp is not None), default=0)
        few = f"at most {ulp} ulp apart, " if 0 < ulp <= 64 else ""
        return f"{few}relative difference {worst.relative:.2g} at step {self.apart.index(worst) + 1}"


@dataclass(frozen=True, eq=False)
class _SideBySide:
    """One comparison of two trainings."""

    original: Training
    rewritten: Training
    steps: int
    files: Files | None

    def compared(self) -> tuple[Verdict, Losses | None]:
        """The verdict, and the losses in the model's own dtypes; None if a version cannot be trained."""
        try:
            before = self.losses(self.original)
        except (MemoryError, ScanifyError, CaseError):
            raise
        except Exception as error:  # user code may raise anything
            why = f"the original cannot be trained: {raised(error, self.files)}"
            return Verdict(Status.NOT_RUN, why), None
        after = rewritten("cannot be trained", lambda: self.losses(self.rewritten), self.files)
        if isinstance(after, Verdict):
            return after, None
        dtypes = self.original.dtypes(self.leaves(self.original))
        curves = _Curves(before, after, limit_of(dtypes))
        losses = self.shown(curves)
        if not tells(before):
            return Verdict(Status.NOT_RUN, "no loss is finite, so that nothing is shown"), losses
        wrong, lost = self.wrong(curves, wide=False)
        if wrong:
            return Verdict(Status.FAILED, wrong), losses
        wide = self.in_float64(dtypes) if limit_of(dtypes) > EXACT else ""
        if isinstance(wide, Verdict):
            return wide, losses
        if lost == 1:
            return Verdict(Status.NOT_RUN, f"{self.noisy(lost)}{wide}"), losses
        words = [f"{self.count}: {curves.said()}", self.noisy(lost), self.constant(before)]
        return Verdict(Status.TESTED, "; ".join(word for word in words if word) + wide), losses

    @property
    def count(self) -> str:
        return f"{self.steps} step{'s' if self.steps > 1 else ''}"

    def leaves(self, training: Training, *, wide: bool = False) -> list[Any]:
        return [widened(leaf) if wide else leaf for leaf in training.built.arrays]

    def losses(self, training: Training, *, wide: bool = False, rounded: float = 0.0) -> list[Any]:
        """The losses of a version, from leaves `rounded` to this relative size if that is not 0."""
        leaves = self.leaves(training, wide=wide)
        what = " from rounded parameters" if rounded else ""
        given = shaken(leaves, rounded) if rounded else leaves
        return training.losses(given, self.steps, what + (" in float64" if wide else ""))

    def in_float64(self, own: set[Any]) -> Verdict | str:
        """FAILED if the losses differ in float64, or what to add to the reason of another verdict."""
        with jax.enable_x64(True):
            try:
                given = [(each, self.leaves(each, wide=True)) for each in (self.original, self.rewritten)]
                limit = limit_of(self.original.dtypes(given[0][1]))
                held = [each.dtypes(leaves, held=True) for each, leaves in given]
                odd = narrower(held[0], held[1], own)
                if limit > LOOSE or odd:
                    return f" (not in float64: {odd or 'it computes in less than float32 whatever it is given'})"
                before, after = (self.losses(each, wide=True) for each in (self.original, self.rewritten))
                curves = _Curves(before, after, limit)
                wrong, lost = self.wrong(curves, wide=True)
            except Exception as error:  # user code may raise anything, and a device may have no float64
                return f" (not in float64: {raised(error, self.files).partition(chr(10))[0]})"
        if wrong:
            return Verdict(Status.FAILED, f"in float64, {wrong}")
        allowed = "" if all(each.bitwise for each in curves.apart) else f" (tolerance {limit:.2g})"
        return f"; in float64 {curves.said()}{allowed}" + (f", and {self.noisy(lost)}" if lost else "")

    def wrong(self, curves: _Curves, *, wide: bool) -> tuple[str, int]:
        """How the losses differ by more than rounding, or ""; and the first step that shows nothing, or 0."""
        if all(each.relative <= curves.limit for each in curves.apart):
            return "", 0
        noisy = self.losses(self.original, wide=wide, rounded=rounding_size(curves.limit))
        noise = itertools.accumulate((each.relative for each in _apart(curves.before, noisy)), max)
        for step, (each, moved) in enumerate(zip(curves.apart, noise, strict=True), 1):
            bound = max(curves.limit, SHAKEN * moved)
            odd = np.isinf(each.relative) and not np.isinf(moved)
            if not bound <= curves.most and not odd:
                return "", step
            if odd or each.relative > bound:
                return _differ(step, each, bound), 0
        return "", 0

    def noisy(self, step: int) -> str:
        return f"from step {step} on rounding alone changes the loss too much to tell by" if step else ""

    def constant(self, losses: Sequence[Any]) -> str:
        """What to say if the loss stays what it is, as where updates are lost to rounding."""
        same = len(losses) > 1 and all(each.bitwise for each in _apart(losses[:-1], losses[1:]))
        return "the loss never changes, so that no step but the first shows anything" if same else ""

    def shown(self, curves: _Curves) -> Losses:
        steps = [
            Step(float(a), float(b), each.bitwise, each.ulp, each.relative)
            for a, b, each in zip(curves.before, curves.after, curves.apart, strict=True)
        ]
        optimizer = f"SGD (rate {RATE:g})" if self.original.built.optimizer is None else "the case's optimizer"
        digits = _DIGITS.get(str(curves.before[0].dtype), 9)
        return Losses(optimizer, self.original.objective, digits, tuple(steps))


def _apart(before: Sequence[Any], after: Sequence[Any]) -> list[Distance]:
    return distances([f"step {step}" for step in range(1, len(before) + 1)], before, after)


def _differ(step: int, apart: Distance, bound: float) -> str:
    return (
        f"the losses differ at step {step} by more than rounding explains: relative difference {apart.relative:.2g}, "
        f"tolerance {bound:.2g} ({apart.values[0]} in the original, {apart.values[1]} in the rewritten version)"
    )
