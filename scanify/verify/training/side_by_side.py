"""Train both versions of a case for some steps on the same data, and compare their losses.

In the model's own dtypes each version starts from its own constructor's parameters, in float64 both start from the
original's: constructors that are proved equal may round differently, too.

Two programs may round differently though they are proved equal, and training propagates the difference. So losses may
differ within the tolerance for tested values: 1e-12 of a loss in float64, the rounding of the coarsest dtype of a step
in the model's own dtypes, or several times the effect of one more rounding of the first parameters and data on the
losses of the original, if that is more. Once that is too large, nothing is shown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Case, build
from scanify.verify.cases.case import CaseError
from scanify.verify.children.telling import tell
from scanify.verify.leaves.correspond import Mismatch
from scanify.verify.linen.align import aligned
from scanify.verify.programs.pair import Pair, pair
from scanify.verify.programs.precision import full_precision
from scanify.verify.proof.attempt import Files, rewritten
from scanify.verify.proof.words import raised
from scanify.verify.training.losses import Losses, Step
from scanify.verify.training.train import RATE, Training
from scanify.verify.values.figures import Distance, distances
from scanify.verify.values.numeric import LOOSE, SHAKEN, tells, widened
from scanify.verify.values.points import shaken
from scanify.verify.values.tolerances import EXACT, limit_of, loosest, narrower, rounding_size
from scanify.verify.verdict import CaseResult, Status, Verdict

_DIGITS = {"float64": 17, "float32": 9, "float16": 5, "bfloat16": 4}


def trained_case(
    name: str, before: Case, after: Case, *, steps: int, files: Files | None = None, **unused: Any
) -> CaseResult:
    """Return the losses of both versions, the rewritten one as written, and the verdict on them, never PROVED.

    A comparer for `scanify.verify.run.verify` that compares nothing else. Raises ScanifyError if the versions do not
    match, or the case's loss is invalid.
    """
    tell("build")
    first = build(before, abstract=False)
    second = rewritten("cannot be built", lambda: build(after, abstract=False), files)
    if isinstance(second, Verdict):
        return CaseResult(name, training=second)
    loop = aligned(before, first, second, abstract=False)
    both = loop if isinstance(loop, Mismatch) else pair(loop, second)
    if isinstance(both, Mismatch):
        raise ScanifyError(f"the models have different structures: {both}")
    assert not isinstance(loop, Mismatch)
    loss = getattr(before, "loss", None)
    trainings = Training("the original", loop, loss), Training("the rewritten version", second, loss)
    with full_precision():
        verdict, losses = _SideBySide(*trainings, both, steps, files).compared()
    return CaseResult(name, training=verdict, losses=losses)


@dataclass(frozen=True, eq=False)
class _Curves:
    """The distance of the losses of both versions at each step, and its tolerance.

    `lost` is the first step from which rounding alone changes the loss too much for a verdict; 0 without one.
    """

    apart: list[Distance]
    bounds: list[float]
    lost: int

    @property
    def wrong(self) -> str:
        """Describe where the losses differ by more than rounding; "" if nowhere."""
        for step, (each, bound) in enumerate(zip(self.apart, self.bounds, strict=True), 1):
            judged = not self.lost or step < self.lost
            odd = math.isinf(each.relative) and not math.isinf(bound)
            if odd or (judged and not each.relative <= bound):
                return (
                    f"the losses differ at step {step} by more than rounding explains: relative difference "
                    f"{each.relative:.2g}, tolerance {bound:.2g} ({each.values[0]} in the original, "
                    f"{each.values[1]} in the rewritten version)"
                )
        return ""

    def __str__(self) -> str:
        noisy = f"from step {self.lost} on rounding alone changes the loss too much to tell by" if self.lost else ""
        told = self.apart[: self.lost - 1] if self.lost else self.apart
        if not told:
            return noisy
        worst = max(told, key=lambda each: (not each.bitwise, each.relative))
        said = "bit for bit equal"
        if not worst.bitwise:
            at, ulp = told.index(worst), max((each.ulp for each in told if each.ulp is not None), default=0)
            few = f"at most {ulp} ulp apart, " if 0 < ulp <= 64 else ""
            said = f"{few}relative difference {worst.relative:.2g} at step {at + 1} (tolerance {self.bounds[at]:.2g})"
        return f"{said}; {noisy}" if noisy else said


@dataclass(frozen=True, eq=False)
class _SideBySide:
    """One comparison of two trainings."""

    original: Training
    rewritten: Training
    both: Pair
    steps: int
    files: Files | None

    def compared(self) -> tuple[Verdict, Losses | None]:
        """Return the verdict, and the losses in the model's own dtypes; None if a version cannot be trained."""
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
        dtypes, _ = self.original.dtypes(self.leaves(self.original))
        native = self.curves(before, after, limit_of(dtypes))
        losses = self.shown(before, after, native)
        if not tells(before):
            return Verdict(Status.NOT_RUN, "no loss is finite, so that nothing is shown"), losses
        if native.wrong:
            return Verdict(Status.FAILED, native.wrong), losses
        wide = self.in_float64(dtypes)
        if isinstance(wide, _Curves) and wide.wrong:
            return Verdict(Status.FAILED, f"in float64, {wide.wrong}"), losses
        said = f"; in float64 {wide}" if isinstance(wide, _Curves) else f" (not in float64: {wide})" if wide else ""
        if native.lost == 1 and (isinstance(wide, str) or wide.lost == 1):
            return Verdict(Status.NOT_RUN, f"{native}{said}"), losses
        same = self.steps > 1 and all(each.bitwise for each in _apart(before[:-1], before[1:]))
        still = "; the loss never changes, so that no step but the first shows anything" if same else ""
        return Verdict(Status.TESTED, f"{self.steps} step{'s' * (self.steps > 1)}: {native}{still}{said}"), losses

    def leaves(self, training: Training, *, wide: bool = False) -> list[Any]:
        """Return the leaves that a version starts from."""
        if not wide:
            return training.built.arrays
        program = self.both.before if training is self.original else self.both.after
        return program.own([widened(leaf) for leaf in self.both.leaves])

    def losses(self, training: Training, *, wide: bool = False, rounded: float = 0.0) -> list[Any]:
        """Return the losses of a version, from leaves `rounded` to this relative size if that is not 0."""
        leaves = self.leaves(training, wide=wide)
        what = f"{' from rounded parameters' if rounded else ''}{' in float64' if wide else ''}"
        return training.losses(shaken(leaves, rounded) if rounded else leaves, self.steps, what)

    def curves(self, before: Sequence[Any], after: Sequence[Any], limit: float, *, wide: bool = False) -> _Curves:
        """Compare losses with `limit` as the tolerance, or the effect of rounding if they are further apart."""
        apart, noise = _apart(before, after), [0.0] * self.steps
        if not all(each.relative <= limit for each in apart):
            noisy = self.losses(self.original, wide=wide, rounded=rounding_size(limit))
            noise = list(itertools.accumulate((each.relative for each in _apart(before, noisy)), max))
        bounds = [max(limit, SHAKEN * moved) for moved in noise]
        lost = (step for step, bound in enumerate(bounds, 1) if not bound <= loosest(limit))
        return _Curves(apart, bounds, next(lost, 0))

    def in_float64(self, own: set[Any]) -> _Curves | str:
        """Return the comparison in float64, or why it was not made; "" if the model computes in float64 itself."""
        if limit_of(own) <= EXACT:
            return ""
        with jax.enable_x64(True):
            try:
                both = self.original, self.rewritten
                (dtypes, held), (_, other) = (each.dtypes(self.leaves(each, wide=True)) for each in both)
                limit, odd = limit_of(dtypes), narrower(held, other, own)
                if limit > LOOSE or odd:
                    return odd or "it computes in less than float32 whatever it is given"
                before, after = (self.losses(each, wide=True) for each in both)
                return self.curves(before, after, limit, wide=True)
            except Exception as error:  # user code may raise anything, and a device may have no float64
                return raised(error, self.files).partition("\n")[0]

    def shown(self, before: Sequence[Any], after: Sequence[Any], curves: _Curves) -> Losses:
        steps = [
            Step(float(a), float(b), each.bitwise, each.ulp, each.relative)
            for a, b, each in zip(before, after, curves.apart, strict=True)
        ]
        optimizer = f"SGD (rate {RATE:g})" if self.original.built.optimizer is None else "the case's optimizer"
        return Losses(optimizer, self.original.objective, _DIGITS.get(str(before[0].dtype), 9), tuple(steps))


def _apart(before: Sequence[Any], after: Sequence[Any]) -> list[Distance]:
    return distances([f"step {step}" for step in range(1, len(before) + 1)], before, after)
