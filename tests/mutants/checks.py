"""The checks of a verification: where each says what it found, and a verification without it."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from scanify.verify.children import case_run
from scanify.verify.compare import compare, gradients, outputs
from scanify.verify.compare.judge import Once
from scanify.verify.verdict import CaseResult, Status, Verdict

PROVED = Verdict(Status.PROVED)

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Check:
    """`part` is the part of a result where the check says what is wrong, and `says` a pattern of its words there.

    `disable` replaces the one function that is this check by one that finds nothing.
    """

    part: str
    says: str
    disable: Patch


def _replace(owner: Any, name: str, answer: Any) -> Patch:
    return lambda patch: patch.setattr(owner, name, lambda *_, **__: answer)


def _any_tree(patch: pytest.MonkeyPatch) -> None:
    for owner in (outputs, compare):
        patch.setattr(owner, "different_outputs", lambda *_: None)
    patch.setattr(outputs, "different_meaning", lambda *_: None)


def _any_parameters(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compare, "same_parameters", lambda *_: PROVED)
    patch.setattr(compare, "from_any_key", lambda *_, **__: None)


def _one_policy(patch: pytest.MonkeyPatch) -> None:
    whole = compare.compare_case

    def first(*case: Any, policies: Sequence[str | None], **options: Any) -> CaseResult:
        return whole(*case, policies=policies[:1], **options)

    patch.setattr(compare, "compare_case", first)


CHECKS = {
    "parameters": Check("parameters", "", _any_parameters),
    "inputs": Check("error", "the same arguments", _replace(compare, "same_parameters", PROVED)),
    "versions kept apart": Check("error", "ran code of the", _replace(compare, "check_not_mixed", None)),
    "output tree": Check("outputs", "^output", _any_tree),
    "outputs": Check("outputs", "^(?!output)", _replace(outputs, "judge", PROVED)),
    "gradients": Check("gradients", "", _replace(compare, "gradients", gradients.Gradients(PROVED))),
    "lost gradients": Check("findings", "no gradient in the rew", _replace(gradients, "lost_gradients", None)),
    "tangents": Check("tangents", "", _replace(compare, "tangents", Once(None))),
    "vmap": Check("batched", "", _replace(compare, "batched", Once(None))),
    "keys": Check("keys", "", _replace(compare, "keys", Once(None))),
    "layers": Check("findings", "never applied", _replace(compare, "missing_layers", None)),
    "remat": Check("findings", "was to use remat", _replace(compare, "remat_findings", ())),
    "scanned": Check("findings", "nothing is scanned", _replace(compare, "nothing_scanned", ())),
    "as written": Check("findings", "as it is written", _replace(compare._Case, "written", [])),
    "policies": Check("policies", "", _one_policy),
    "sweep": Check("sweep", "", _replace(case_run, "find_sweep", ({},))),
}


def said(results: Sequence[CaseResult], *, abstract: bool) -> dict[str, str]:
    """The checks that found something wrong, and what they said.

    What is found only under a policy after the first, or in a variant after the defaults, is said by the check that
    compared those.
    """
    first, *rest = results
    later = [result for result in rest if not result.good]
    if first.good and later:
        return {"sweep": f"{later[0].name}: {'; '.join(_wrong(later[0], abstract).values()) or later[0].error}"}
    alone = dataclasses.replace(first, policies=first.policies[:1])
    if alone.good and not first.good:
        wrong = next(p for p in first.policies if not (p.outputs.good and p.gradients.good and not p.findings))
        one = dataclasses.replace(first, policies=(wrong,))
        return {"policies": f"{wrong.policy}: {'; '.join(_wrong(one, abstract).values())}"}
    return _wrong(first, abstract)


def _wrong(result: CaseResult, abstract: bool) -> dict[str, str]:
    parts = _parts(result, abstract)
    found = {
        name: text
        for name, check in CHECKS.items()
        for part, text in parts
        if part == check.part and re.search(check.says, text)
    }
    assert all(any(text == known for known in found.values()) for _, text in parts), f"said by no check: {parts}"
    return found


def _parts(result: CaseResult, abstract: bool) -> list[tuple[str, str]]:
    """What is wrong, by the part of the result that says so. With values, what was not run says nothing."""
    verdicts = [
        *((part, getattr(result, part)) for part in ("parameters", "tangents", "batched", "keys")),
        *((part, getattr(policy, part)) for policy in result.policies for part in ("outputs", "gradients")),
    ]
    found = [
        (part, verdict.reason) for part, verdict in verdicts if verdict is not None and _is_wrong(verdict, abstract)
    ]
    found += [("findings", text) for text in result.findings]
    found += [("findings", text) for policy in result.policies for text in policy.findings]
    return [*found, ("error", result.error)] if result.error is not None else found


def _is_wrong(verdict: Verdict, abstract: bool) -> bool:
    if verdict.status is Status.NOT_RUN:
        return abstract or verdict.reason.startswith("the values agree")
    return verdict.status is Status.FAILED
