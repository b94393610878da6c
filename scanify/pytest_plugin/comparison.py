"""One case of a configuration, compared once for all of its tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.plan import Refusal
from scanify.commands.verifying.by_hand import since
from scanify.commands.verifying.cases import rewrite_for_cases
from scanify.commands.verifying.target import target_of
from scanify.configuration.config import Config
from scanify.emit import policy_at_run_time
from scanify.errors import ScanifyError
from scanify.pipeline import Project, form_of
from scanify.report.sentences import shown, where
from scanify.source.discover import Selection
from scanify.verify import verify
from scanify.verify.cache.cache import Cache
from scanify.verify.cases.case import CaseSpec, parse_case
from scanify.verify.verdict import CaseResult

if TYPE_CHECKING:
    from scanify.pipeline import Outcome


class Nothing(Exception):
    """Raised if there is nothing to compare, with the reason."""


class Comparison:
    """A case of the configuration, compared with a rewrite by scanify, or with the git revision `against`."""

    def __init__(self, config: Config, name: str, text: str, against: str | None) -> None:
        self.config, self.name, self.text, self.against = config, name, text, against
        self._found: tuple[tuple[str | None, ...], list[CaseResult]] | None = None
        self._failed: Exception | None = None

    def results(self, policies: Sequence[str | None]) -> list[CaseResult]:
        """Return the results under these policies for each variant of the case. Raises Nothing or ScanifyError."""
        if self._failed is not None:
            raise self._failed
        if self._found is None or not set(policies) <= set(self._found[0]):
            try:
                self._found = tuple(policies), self._compared(tuple(policies))
            except (Nothing, ScanifyError) as error:
                self._failed = error
                raise
        return self._found[1]

    def _compared(self, policies: tuple[str | None, ...]) -> list[CaseResult]:
        case = parse_case(self.text, self.config.root)
        case = replace(case, text=self.text)
        target = target_of(self.name, case, self.config)
        return self._against(case, target, policies) if self.against else self._rewritten(case, target, policies)

    def _rewritten(self, case: CaseSpec, target: Path, policies: tuple[str | None, ...]) -> list[CaseResult]:
        if policy_at_run_time(self.config.target):
            return self._verified(case, target, policies, None)
        found = [(policy, self._verified(case, target, (None,), policy)) for policy in policies]
        variants = zip(*(results for _, results in found), strict=True)
        return [_of_all_policies(list(policies), variant) for variant in variants]

    def _verified(
        self, case: CaseSpec, target: Path, policies: tuple[str | None, ...], remat: str | None
    ) -> list[CaseResult]:
        """Return the results for the file rewritten with the policy `remat`, compared under `policies`."""
        config = self.config
        done = verify(
            rewritten(config, target, remat).changes,
            [case],
            policies=policies,
            requested=None,
            measure=False,
            target=target,
            cache=Cache.of(config.root),
        )
        return list(done.cases)

    def _against(self, case: CaseSpec, target: Path, policies: tuple[str | None, ...]) -> list[CaseResult]:
        assert self.against is not None
        try:
            change = since(self.against, str(target), [case.path])
        except ScanifyError as error:
            if str(error).startswith("nothing to verify"):
                raise Nothing(str(error)) from None
            raise
        done = verify(
            change.changes,
            [case],
            policies=policies,
            requested=None,
            measure=False,
            target=change.target,
            rewritten_target=change.rewritten_target,
            data=change.data,
            tree=change.tree,
            cache=Cache.of(self.config.root),
        )
        return list(done.cases)


def rewritten(config: Config, path: Path, remat: str | None, *, undecided: bool = False) -> Outcome:
    """Rewrite a file or folder by its configuration, with `undecided` also loops whose layers the source leaves open.

    Raises Nothing if no loop can be rewritten.
    """
    project = Project.load([path], selection=Selection(config.root, config.exclude))
    loops = project.analyse().loops if undecided else ()
    outcome = rewrite_for_cases(
        project,
        stack=config.stack,  # type: ignore[arg-type]
        remat=remat,
        target=form_of(project.every, config.target, config.target_version),
        wanted=config.wants,
        undecided=frozenset(each.place for each in loops if isinstance(each, Refusal) and each.undecided is not None),
    )
    if not outcome.changes:
        reasons = [f"{where(each.place, config.root)}: {each.rule} {each.reason}" for each in outcome.refused]
        reasons += [f"{where(each.place, config.root)}: {each.elsewhere[0]}" for each in outcome.beyond_cases]
        raise Nothing(f"no loop of {shown(path, config.root)} can be rewritten: {'; '.join(reasons) or 'it has none'}")
    return outcome


def _of_all_policies(names: Sequence[str | None], results: Sequence[CaseResult]) -> CaseResult:
    """Combine the results of texts with one policy each; the rest is taken from the first result that is not good."""
    policies = [
        replace(each, policy=name or each.policy)
        for name, result in zip(names, results, strict=True)
        for each in result.policies
    ]
    worst = next((each for each in results if not each.good), results[0])
    return replace(worst, policies=tuple(policies))
