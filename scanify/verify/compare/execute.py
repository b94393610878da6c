"""Run the compiled programs of two versions that were proved equal, since a compiler may change the results.

They are compiled like the model, in its own dtypes, with outputs and gradients in one program, whose cost is also
measured on a CPU. Both get the values of the case with small changes, so that no two layers are equal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.verify.compare.judge import Subject
from scanify.verify.measure.measure import Compiled, Executables
from scanify.verify.programs.policy import policy_of
from scanify.verify.programs.precision import full_precision
from scanify.verify.programs.trace import Policy, Traced, differentiated, shared_gradients
from scanify.verify.values import checks
from scanify.verify.values.arrays import plain
from scanify.verify.values.checks import noise
from scanify.verify.values.figures import distances
from scanify.verify.values.limited import may_not_end
from scanify.verify.values.numeric import WORSE, tells
from scanify.verify.values.points import near, shaken
from scanify.verify.values.tolerances import LOOSEST_COARSE, coarsest, dtypes_of, loosest, rounding_size, tolerance
from scanify.verify.verdict import Status, Verdict

# Outputs, and gradients of the leaves that both versions share.
Values = tuple[list[Any], list[Any]]
Verdicts = tuple[Verdict, Verdict]


def executed(
    subject: Subject, traced: Traced, policy: Policy, executables: Executables, verdicts: Verdicts
) -> Verdicts:
    """Return the verdicts on outputs and gradients, which stay PROVED if the compiled programs agree as well."""
    if all(each.status is not Status.PROVED for each in verdicts):
        return verdicts
    with subject.steps.step("execute"), full_precision():
        try:
            leaves, cotangents, before = subject.comparison.once("executed", lambda: _original(subject, executables))
        except Exception as error:  # user code, in callbacks, may raise anything
            return _instead(verdicts, _not_run(f"the original raised {subject.said(error)}"))
        try:
            program = executables.of(subject.both.after, subject.both.avals, traced, policy_of(policy))
            own = subject.comparison.once("own leaves", lambda: program.program.own(leaves))
            after = _run(program, own, cotangents)
        except Exception as error:
            text = f"the programs are proved equal, but the rewritten version raised {subject.said(error)} when it ran"
            return _instead(verdicts, Verdict(Status.FAILED, text))
        grads = [f"the gradient of {subject.both.found.names[i]}" for i in differentiated(subject.both.avals)]
        judged = functools.partial(_judged, subject, lambda: _rounded(subject, executables, leaves, cotangents))
        first, second = (
            judged(at, verdict, list(names), before[at], after[at])
            for at, (verdict, names) in enumerate(zip(verdicts, (subject.comparison.outputs, grads), strict=True))
        )
    return first, second


def _original(subject: Subject, executables: Executables) -> tuple[list[Any], list[Any], Values]:
    """Return values for the leaves and cotangents, and the original's results for them."""
    both, rng = subject.both, np.random.default_rng(1)
    program = executables.of(both.before, both.avals, subject.original, None)
    cotangents = [noise(rng, each) for each in program.cotangents]
    own = program.program.own
    if may_not_end(subject.original.forward.jaxpr):
        limited = checks.values(both.before, both.leaves, rng)  # the executable itself cannot be interrupted
        leaves = _arrays(near(both.leaves, limited)[0].leaves)
        limited(leaves)
    else:
        point, _ = near(both.leaves, lambda leaves: _run(program, own(_arrays(leaves)), cotangents)[0])
        leaves = _arrays(point.leaves)
    return leaves, cotangents, _run(program, own(leaves), cotangents)


def _arrays(leaves: Sequence[Any]) -> list[Any]:
    return [jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]


def _run(program: Compiled, own: Sequence[Any], cotangents: Sequence[Any]) -> Values:
    """Return outputs and gradients for the version's own leaves."""
    outputs, grads = jax.block_until_ready(program.executable(list(own), list(cotangents)))
    at = differentiated(own)
    return list(outputs), shared_gradients(program.program, own, at, list(map(plain, grads))) if grads else []


def _rounded(
    subject: Subject, executables: Executables, leaves: Sequence[Any], cotangents: Sequence[Any]
) -> Values | None:
    """Return the original's results for leaves and cotangents that are rounded once more; None if it raises."""

    def compute() -> Values | None:
        program = executables.of(subject.both.before, subject.both.avals, subject.original, None)
        try:
            moved, weights = (shaken(some, rounding_size(_limit(subject))) for some in (leaves, cotangents))
            return _run(program, program.program.own(moved), weights)
        except Exception:  # user code, in callbacks, may raise anything
            return None

    found: Values | None = subject.comparison.once("executed and rounded", compute)
    return found


def _judged(
    subject: Subject,
    rounded: Callable[[], Values | None],
    at: int,
    verdict: Verdict,
    names: list[str],
    before: list[Any],
    after: list[Any],
) -> Verdict:
    """Return the verdict on the outputs (`at` 0) or the gradients (1) after both versions were run.

    The distance of arrays may exceed the tolerance by the effect of rounding the inputs of the original: a scan is
    compiled to other fusions than a loop, and in a coarse dtype each of them rounds elsewhere. An array that consists
    of rounding errors, such as the gradient of a bias in front of a normalisation, is named in the verdict: the
    evidence comes from the others.
    """
    if verdict.status is not Status.PROVED:
        return verdict
    if not tells(before):
        return _not_run("nothing finite came out, so that nothing is shown")
    limit, apart = _limit(subject), distances(names, before, after)
    if all(each.relative <= limit for each in apart):
        return verdict
    moved = rounded()
    noise = [0.0 for _ in apart] if moved is None else [each.relative for each in distances(names, before, moved[at])]
    bounds = [max(limit, WORSE * each) for each in noise]
    over = [(each, bound) for each, bound in zip(apart, bounds, strict=True) if not each.relative <= bound]
    if over:
        worst, bound = max(over, key=lambda found: found[0].relative)
        text = "the programs are proved equal, and what they are compiled to is not: the compiler changed one of them"
        return Verdict(Status.FAILED, f"{text}; its own dtypes {worst} (tolerance {bound:.2g})")
    most = loosest(limit)
    hidden = [number for number, each in enumerate(apart) if each.relative > most]
    if not hidden:
        return verdict
    values = [value for number, value in enumerate(before) if number not in hidden]
    shown = tells(values) and any(np.any(plain(value)) for value in values)
    real = [n for n in hidden if moved is None or not _is_rounding(before[n], moved[at][n])]
    if real or not shown:
        where = apart[(real or hidden)[0]]
        return _not_run(f"rounding alone changes the result as much as the two are apart: {where}")
    more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
    said = f"execution shows nothing of {names[hidden[0]]}{more}, which is rounding alone"
    return replace(verdict, reason="; ".join(filter(None, (verdict.reason, said))))


def _is_rounding(value: Any, moved: Any) -> bool:
    """True if rounding the inputs changes an array by its own size."""
    return distances([""], [value], [moved])[0].relative > LOOSEST_COARSE


def _limit(subject: Subject) -> float:
    """Return the tolerance for the coarsest arithmetic of the original, which compilers do not always keep."""
    programs = [each for each in (subject.original.forward, subject.original.gradient) if each is not None]
    return tolerance(coarsest(dtype for program in programs for dtype in dtypes_of(program)))


def _not_run(why: str) -> Verdict:
    return Verdict(Status.NOT_RUN, f"the programs are proved equal, but could not be executed: {why}")


def _instead(verdicts: Verdicts, other: Verdict) -> Verdicts:
    first, second = (other if each.status is Status.PROVED else each for each in verdicts)
    return first, second
