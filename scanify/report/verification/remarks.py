"""What there is to say on the verdicts of a case, each once: the same words in every format."""

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
    """A verdict in words. `what` was compared, and under which policies; `why` is "" where the status says it all.

    `difference` is the verdict's, or None where another statement tells it already.
    """

    what: str
    verdict: Verdict
    why: str
    difference: Difference | None = None

    @property
    def plain(self) -> bool:
        """Whether it is a proof with nothing to add."""
        return self.verdict.status is Status.PROVED and not self.verdict.reason


def statements(case: CaseResult) -> tuple[Statement, ...]:
    """What the verdicts of a case say, each once: parameters, outputs and gradients, then what follows from them.

    Outputs and gradients that are plainly PROVED are left out: the table of policies says so.
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
        # Where outputs differ, gradients differ in turn.
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
    """The reason without the difference, which has lines of its own."""
    if verdict.difference is None:
        return verdict.reason
    shown = FIRST_DIFFERENCE + show_difference(verdict.difference)
    return verdict.reason.replace(f"; {shown}", "").replace(f" ({shown})", "").replace(shown, "").strip("; ")


def said_once(name: str, verdict: Verdict) -> str:
    """What a verdict on parameters, tangents, batched outputs or keys says: its reason, or what it means."""
    return reason(verdict) or _ONCE[name][_ORDER.index(verdict.status)]


def under(some: Sequence[str], names: Sequence[str]) -> str:
    """` under nested, full`, or ` under every policy`."""
    if len(names) > 1 and len(some) == len(names):
        return " under every policy"
    return f" under {', '.join(some)}"


def by_policy(texts: Mapping[str, Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Each text once, with the policies it holds under."""
    held: dict[str, list[str]] = {}
    for policy, some in texts.items():
        for text in some:
            held.setdefault(text, []).append(policy)
    return tuple((under(policies, list(texts)).strip(), text) for text, policies in held.items())


def findings(case: CaseResult) -> tuple[tuple[str, str], ...]:
    """What is wrong beside the verdicts: the policies it holds under ("" for the case), and the finding."""
    return (*(("", text) for text in case.findings), *by_policy({p.policy: p.findings for p in case.policies}))


def notes(case: CaseResult) -> tuple[tuple[str, str], ...]:
    """What is worth knowing and not wrong, as `findings`."""
    meshed = (("on the mesh", text) for text in mesh_remarks(case.on_mesh))
    return (*(("", text) for text in own_notes(case)), *by_policy({p.policy: p.notes for p in case.policies}), *meshed)


def own_notes(case: CaseResult) -> tuple[str, ...]:
    """The notes on the case itself, with what there is to say of its seconds."""
    pace = "" if case.pace is None else remark(case.pace)
    return (*case.notes, *([pace] if pace else []))


def advice(verification: Verification) -> tuple[tuple[str, str], ...]:
    """Where scanning does not pay: the case ("" for all of them), and why. () where nobody asked."""
    if verification.advice is None:
        return ()
    found = tuple((each.case, each.text) for each in verification.advice)
    return found or (("", NO_ADVICE),)


def sides(difference: Difference) -> tuple[tuple[str, Operation], ...]:
    """The operations of both versions that part, as far as known."""
    both = (("before", difference.before), ("after", difference.after))
    return tuple((side, operation) for side, operation in both if operation is not None)


def place(operation: Operation) -> str:
    """`gpt/model.py:41 layer 3`, or "" where nothing is known."""
    file = "" if operation.file is None else operation.file + (f":{operation.line}" if operation.line else "")
    layer = "" if operation.layer is None else f"layer {operation.layer}"
    return " ".join(part for part in (file, layer) if part)
