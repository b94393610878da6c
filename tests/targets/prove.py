"""One model of `fixtures/` rewritten to one target under one policy: refused, proved, or what else the proof says."""

from dataclasses import dataclass
from pathlib import Path

from scanify.analysis.plan import Framework, Plan, Refusal
from scanify.analysis.stack import CallStack
from scanify.pipeline import Outcome, Project, Stack, rewrite_sources
from scanify.source.discover import Selection
from scanify.verify.compare.compare import compare_case
from scanify.verify.verdict import CaseResult, Status
from tests import fixture_helpers
from tests.fixture_helpers import Fixture, write

POLICIES = ("none", "full", "nested", "save_all", "dots", "offload")


# Of several cases of a model the one that is quickest to compare.
_QUICK = {"gpt": "gpt_small", "llama": "llama"}


def case_of(each: Fixture) -> str:
    """The case that a model is compared on."""
    return each.cases[0] if len(each.cases) == 1 else _QUICK.get(each.name, each.cases[0])


@dataclass(frozen=True)
class Row:
    """What became of a model: how its list is stacked, `word` for all parts of the proof together, and a reason."""

    stacked: str
    word: str
    reason: str = ""


def rewritten(each: Fixture, target: str, remat: str, stack: Stack | None, folder: Path) -> Outcome:
    """What the rewrite would make of a model."""
    project = Project.load([write(each.before, folder)], selection=Selection(folder))
    return rewrite_sources(project, stack=stack, remat=remat, target=target, accept=_accepted)


def _accepted(plan: Plan) -> bool:
    """True of safe plans, and of those of Flax, of which none is safe and all need a case; groups fail with one."""
    return plan.safe or (plan.framework in (Framework.NNX, Framework.LINEN) and plan.rule != "SCN102")


def refused(each: Fixture, target: str, remat: str, folder: Path) -> Row | None:
    """Why the target does not rewrite a model without being told to, None where it does: nothing is run for it."""
    (loop,) = rewritten(each, target, remat, None, folder).analysis.loops
    if isinstance(loop, Refusal):
        return Row("", "refused", loop.reason)
    return None if _accepted(loop) else Row("", "held back", loop.obligations[0].text)


def prove(each: Fixture, case: str, target: str, remat: str, stack: Stack | None, folder: Path) -> Row:
    """Rewrite, and prove that what comes out computes what the loop does, from the same parameters."""
    outcome = rewritten(each, target, remat, stack, folder / "original")
    (loop,) = outcome.analysis.loops
    if isinstance(loop, Refusal):
        return Row("", "refused", loop.reason)
    if not _accepted(loop):
        return Row("", "held back", loop.obligations[0].text)
    stacked = "call" if isinstance(loop.stack, CallStack) and loop.linen is None else "init"
    texts = {path.relative_to(folder / "original").as_posix(): text for path, text in outcome.texts.items()}
    return Row(stacked, *word(compared(each, case, remat, write(texts, folder / "rewritten"), folder / "original")))


def compared(each: Fixture, case: str, remat: str, rewritten: Path, original: Path) -> CaseResult:
    """The comparison of both versions, the rewritten one as it is written."""
    before, after = (
        fixture_helpers.thunk(folder, each.target, each.case_file, case) for folder in (original, rewritten)
    )
    return compare_case(
        case,
        before,
        after,
        policies=(None,),
        requested=None,
        abstract=False,
        measure=False,
        files=fixture_helpers.files,
    )


def word(result: CaseResult) -> tuple[str, str]:
    """PROVED where all of it is proved; else the first verdict that is not, with its reason."""
    verdicts = [result.parameters]
    for policy in result.policies:
        verdicts += [policy.outputs, policy.gradients]
    verdicts += [each for each in (result.tangents, result.batched) if each is not None]
    for verdict in verdicts:
        if verdict is None or verdict.status is not Status.PROVED:
            return (verdict.status.name, verdict.reason) if verdict is not None else ("NOT RUN", "")
    return ("PROVED", "") if result.good else ("FINDINGS", str(result.findings))
