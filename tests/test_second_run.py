"""A rewrite on the evidence of a run writes what the last verification shows, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from scanify.commands.recorded.evidence import Accept, by_recorded_calls
from scanify.errors import CaseFailed
from scanify.pipeline import Outcome, Project, rewrite_sources
from scanify.verify.verdict import CaseResult, LoopRun, PolicyResult, Status, Verdict, Verification
from tests.test_cli_rewrite_recorded import MODEL

PROVED = Verdict(Status.PROVED)


def test_loops_that_only_the_first_verification_shows_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    project = Project.load([tmp_path / "model.py"])

    def rewrite(accept: Accept) -> Outcome:
        return rewrite_sources(project, accept=accept, undecided=lambda place: True)

    places = [plan.place for plan in rewrite(lambda plan: True).applied]
    assert len(places) == 2
    run = LoopRun("model.py", places[0].span.line, "for layer in self.layers", 4)
    good = CaseResult("run", parameters=PROVED, policies=(PolicyResult("none", PROVED, PROVED),), loops=(run,))
    answers = [Verification((good,)), Verification((replace(good, policies=(), error="differs from itself"),))]
    with pytest.raises(CaseFailed, match="no call could be compared\ndiffers from itself"):
        by_recorded_calls(rewrite, lambda outcome: answers.pop(0), frozenset())
    again = [Verification((good,)), Verification((good,))]
    outcome, _ = by_recorded_calls(rewrite, lambda outcome: again.pop(0), frozenset())
    assert [plan.place for plan in outcome.applied] == [places[0]]
