"""Statements about the verdicts of a case, without repetition: the same words in every format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scanify.report.verification.on_mesh import mesh_remarks
from scanify.report.verification.summary import once
from scanify.verify.measure.pace import remark
from scanify.verify.proof.words import FIRST_DIFFERENCE, show_difference
from scanify.verify.verdict import CaseResult, Difference, Operation, PolicyResult, Status, Verdict, Verification

NO_ADVICE = "nothing that was measured speaks against scanning"
_COMPARED = "{what} are equal", "{what} agree numerically", "{what} differ", "{what} were not compared"
_ONCE = {
    "depth": ("", "", "", "too few layers run"),
    "parameters": (
        "both versions start from equal parameters for any key",
        "both versions start from parameters that agree numerically",
        "the versions start from different parameters",
        "the initial parameters were not compared",
    ),
    "tangents": tuple(text.format(what="the forward derivatives (jvp)") for text in _COMPARED),
    "batched": tuple(text.format(what="the outputs under vmap") for text in _COMPARED),
    "keys": (
        "no random key is used more than once",
        "no random key was seen to be used more than once",
        "a random key is used more than once",
        "the use of random keys was not checked",
    ),
    "updates": tuple(text.format(what="the parameters after one step of training") for text in _COMPARED),
    "training": tuple(text.format(what="the losses of both versions") for text in _COMPARED),
}
_ORDER = (Status.PROVED, Status.TESTED, Status.FAILED, Status.NOT_RUN)


@dataclass(frozen=True)
class Statement:
    """A verdict in words.

    `what` names the compared quantities and the policies. `why` is "" if the status says it all. `difference` is the
    difference of the verdict, or None if another statement shows it already.
    """

    what: str
    verdict: Verdict
    why: str
    difference: Difference | None = None

    @property
    def plain(self) -> bool:
        """True if it is a proof with nothing to add."""
        return self.verdict.status is Status.PROVED and not self.verdict.reason


def statements(case: CaseResult) -> tuple[Statement, ...]:
    """Describe the verdicts of a case without repetition: parameters, outputs and gradients, then the others.

    Outputs and gradients that are PROVED without a reason are left out, since the table of policies shows them.
    """
    named = [Statement(name, verdict, said_once(name, verdict), verdict.difference) for name, verdict in once(case)]
    first = [each for each in named if each.what in ("depth", "parameters")]
    found, told = [], set()
    for each in (*first, *_by_verdict(case.policies), *(each for each in named if each not in first)):
        found.append(replace(each, difference=None) if each.difference in told else each)
        told.add(each.difference)
    return tuple(found)


def _by_verdict(policies: Sequence[PolicyResult]) -> list[Statement]:
    held: dict[Verdict, dict[str, list[str]]] = {}
    for policy in policies:
        for what, verdict in (("outputs", policy.outputs), ("gradients", policy.gradients)):
            if verdict.status is not Status.PROVED or verdict.reason:
                held.setdefault(verdict, {}).setdefault(what, []).append(policy.policy)
    names = [policy.policy for policy in policies]
    wrong = {policy.policy for policy in policies if policy.outputs.difference is not None}
    found = []
    for verdict, some in held.items():
        # If outputs differ, so do gradients.
        follows = "outputs" not in some and wrong.issuperset(some["gradients"])
        found.append(Statement(_where(some, names), verdict, reason(verdict), None if follows else verdict.difference))
    return found


def _where(some: Mapping[str, Sequence[str]], policies: Sequence[str]) -> str:
    """`outputs and gradients under nested`."""
    said = {what: under(some[what], policies) for what in ("outputs", "gradients") if what in some}
    if len(set(said.values())) == 1:
        return " and ".join(said) + next(iter(said.values()))
    return "; ".join(what + held for what, held in said.items())


def reason(verdict: Verdict) -> str:
    """The reason without the difference, which is shown on its own lines."""
    if verdict.difference is None:
        return verdict.reason
    shown = FIRST_DIFFERENCE + show_difference(verdict.difference)
    return verdict.reason.replace(f"; {shown}", "").replace(f" ({shown})", "").replace(shown, "").strip("; ")


def said_once(name: str, verdict: Verdict) -> str:
    """Describe a verdict that applies to all policies: its reason, or the meaning of its status."""
    return reason(verdict) or _ONCE[name][_ORDER.index(verdict.status)]


def under(some: Sequence[str], names: Sequence[str]) -> str:
    """` under nested, full`, or ` under every policy`."""
    if len(names) > 1 and len(some) == len(names):
        return " under every policy"
    return f" under {', '.join(some)}"


def by_policy(texts: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Return each text once, with the policies it applies to."""
    held: dict[str, list[str]] = {}
    for policy, some in texts.items():
        for text in some:
            held.setdefault(text, []).append(policy)
    return tuple((under(policies, list(texts)).strip(), text) for text, policies in held.items())


def findings(case: CaseResult) -> tuple[tuple[str, str], ...]:
    """Return the findings besides the verdicts, each with its policies ("" for the whole case)."""
    return (*(("", text) for text in case.findings), *by_policy({p.policy: p.findings for p in case.policies}))


def notes(case: CaseResult) -> tuple[tuple[str, str], ...]:
    """Return the notes, which are not failures, in the form of `findings`."""
    meshed = (("on the mesh", text) for text in mesh_remarks(case.on_mesh))
    return (*(("", text) for text in own_notes(case)), *by_policy({p.policy: p.notes for p in case.policies}), *meshed)


def own_notes(case: CaseResult) -> tuple[str, ...]:
    """Return the notes on the case itself, including any remark on its running time."""
    pace = "" if case.pace is None else remark(case.pace)
    return (*case.notes, *([pace] if pace else []))


def advice(verification: Verification) -> tuple[tuple[str, str], ...]:
    """Return pairs of a case ("" for all cases) and a reason against scanning; () if advice was not requested."""
    if verification.advice is None:
        return ()
    found = tuple((each.case, each.text) for each in verification.advice)
    return found or (("", NO_ADVICE),)


def sides(difference: Difference) -> tuple[tuple[str, Operation], ...]:
    """Return the first operations that differ in the two versions, as far as known."""
    both = (("before", difference.before), ("after", difference.after))
    return tuple((side, operation) for side, operation in both if operation is not None)


def place(operation: Operation) -> str:
    """`gpt/model.py:41 layer 3`, or "" if nothing is known."""
    file = "" if operation.file is None else operation.file + (f":{operation.line}" if operation.line else "")
    layer = "" if operation.layer is None else f"layer {operation.layer}"
    return " ".join(part for part in (file, layer) if part)
