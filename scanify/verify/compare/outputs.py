"""Compare the outputs: their pytree, their avals, their values, and the effects on the way."""

from __future__ import annotations

from scanify.verify.compare.judge import Subject, judge
from scanify.verify.compare.written import differently_written
from scanify.verify.leaves.correspond import Correspondence, Mismatch, walked
from scanify.verify.programs.trace import Policy, Traced
from scanify.verify.values.numeric import compare_outputs
from scanify.verify.verdict import Status, Verdict


def outputs(subject: Subject, traced: Traced, policy: Policy) -> Verdict:
    """Return the verdict on the outputs of the rewritten version, traced under a policy."""
    wrong = different_outputs(subject.original, traced)
    if wrong is not None:
        return Verdict(Status.FAILED, wrong)
    unseen = different_objects(subject.original, traced, certain=False)
    if unseen is not None:
        return Verdict(Status.NOT_RUN, f"{unseen}; what is computed with it later is not compared")
    return judge(subject, subject.original.forward, traced.forward, compare_outputs, policy=policy, what="outputs")


def different_outputs(before: Traced, after: Traced) -> str | None:
    """Describe how the outputs differ in pytree, shape, dtype, weak type or non-array objects; None if they do not."""
    wrote = differently_written(before.outputs.tree, after.outputs.tree)
    if wrote is not None:
        return wrote
    found = _corresponding(before, after)
    if isinstance(found, Mismatch):
        return f"output{_sub(found.path)}: {found.text}"
    objects = different_objects(before, after, certain=True)
    if objects is not None:
        return objects
    for i, (name, recipe) in enumerate(zip(before.outputs.names, found.recipes, strict=True)):
        if recipe.lead or recipe.sources != (i,):
            return f"{name}: an array of its own in the original, part of a stack in the rewritten version"
        weak = [getattr(t.outputs.avals[i], "weak_type", False) for t in (before, after)]
        if weak[0] != weak[1]:
            words = ["weakly typed" if w else "not weakly typed" for w in weak]
            return f"{name}: {words[0]} in the original, {words[1]} in the rewritten version"
    return None


def different_objects(before: Traced, after: Traced, *, certain: bool) -> str | None:
    """Describe how a returned non-array object differs (`certain`), or why it is not seen to be the same."""
    found = _corresponding(before, after)
    statics = () if isinstance(found, Mismatch) else found.statics
    return next((f"output{_sub(each.path)}: {each.text}" for each in statics if each.certain is certain), None)


def _corresponding(before: Traced, after: Traced) -> Correspondence | Mismatch:
    return walked(before.outputs.tree, after.outputs.tree, classes=True)


def _sub(path: str) -> str:
    return path if not path or path.startswith("[") else f".{path}"
