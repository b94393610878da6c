"""A test for each case and policy, and one for each case as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from scanify.configuration.config import REMATS, SYNONYMS, parse_config
from scanify.emit import policy_at_run_time
from scanify.errors import ScanifyError
from scanify.pytest_plugin.comparison import Comparison, Nothing
from scanify.pytest_plugin.failure import wrong, wrong_as_a_whole
from scanify.pytest_plugin.recorded import RecordedComparison, RewrittenLoop, RewrittenProject
from scanify.verify.verdict import CaseResult, PolicyResult, Verdict

# Used instead of a policy for the checks that do not depend on one, and for the policy as written.
WHOLE = "case"
WRITTEN = "as written"


class Different(Exception):
    """The two versions differ, or were not shown to be equal; the message is for the user."""


class Cases(pytest.File):
    """The cases of one configuration."""

    def collect(self) -> Iterator[CaseItem | RecordedItem]:
        try:
            config = parse_config(self.path)
        except ScanifyError as error:
            raise self.CollectError(str(error)) from None
        against: str | None = self.config.getoption("--scanify-against")
        remats = [SYNONYMS.get(each.lower(), each.lower()) for each in self.config.getoption("--scanify-remat")]
        policies = tuple(dict.fromkeys(remats)) or ((WRITTEN,) if against else REMATS)
        for name, text in config.cases:
            comparison = Comparison(config, name, text, against)
            for part in (WHOLE, *policies):
                yield CaseItem.from_parent(self, name=f"{name}[{part}]", case=name, comparison=comparison, part=part)
        if config.commands:
            yield from self._recorded(RewrittenProject(config, against), policies)

    def _recorded(self, project: RewrittenProject, policies: Sequence[str]) -> Iterator[RecordedItem]:
        """Yield an item for each command and loop, or one for the command if there is no loop."""
        if project.against is None and not policy_at_run_time(project.config.target):
            policies = (WRITTEN,)
        try:
            loops: list[RewrittenLoop | None] = list(project.loops())
        except (Nothing, ScanifyError):  # reported by the item
            loops = []
        for name, text in project.config.commands:
            comparison = RecordedComparison(project, text)
            for loop in loops or [None]:
                at = name if loop is None else f"{name}[{loop.named(project.config.root)}]"
                given = {"comparison": comparison, "loop": loop, "policies": policies}
                yield RecordedItem.from_parent(self, name=at, case=name, **given)


def cases_in(parent: pytest.Collector, path: Path) -> Cases:
    """Return the cases of a pyproject.toml as a test file."""
    found: Cases = Cases.from_parent(parent, path=path)
    return found


class _Item(pytest.Item):
    """Compares two versions; `case` is the name in the configuration."""

    def __init__(self, *, case: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case

    def results(self) -> Sequence[CaseResult]:
        """Compare the versions. Raises Nothing or ScanifyError."""
        raise NotImplementedError

    def wrong(self, result: CaseResult) -> str | None:
        """Return the error message for a result, or None if it is good."""
        raise NotImplementedError

    def verdicts(self, result: CaseResult) -> list[Verdict]:
        """Return the verdicts of a result that concern the item."""
        raise NotImplementedError

    def runtest(self) -> None:
        try:
            results = self.results()
        except Nothing as why:
            raise pytest.skip.Exception(str(why), _use_item_location=True) from None
        except ScanifyError as error:
            raise Different(str(error)) from None
        for result in results:
            if result.output.strip():
                self.add_report_section("call", "stdout", result.output)
        found = [text for result in results if (text := self.wrong(result)) is not None]
        if found:
            raise Different("\n\n".join(found))
        verdicts = [verdict for result in results for verdict in self.verdicts(result)]
        for verdict in verdicts:
            if verdict.reason:
                self.add_report_section("call", "scanify", f"{verdict.status.value}: {verdict.reason}\n")
        statuses = {verdict.status.value for verdict in verdicts}
        self.user_properties.append(("scanify", " and ".join(sorted(statuses)) or "nothing to compare"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show only the message, since a traceback of the plugin does not help the user."""
        if isinstance(excinfo.value, Different):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        at = (number for number, line in enumerate(lines) if line.split("=")[0].strip(" \"'") == self.case)
        return self.path, next(at, 0), f"scanify {self.name}"


class CaseItem(_Item):
    """One case under one policy, or its policy-independent checks. The items of a case share one comparison."""

    def __init__(self, *, comparison: Comparison, part: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.comparison, self.part = comparison, part

    def results(self) -> Sequence[CaseResult]:
        results = self.comparison.results(self._policies())
        for each in (policy for result in results for policy in result.policies if policy.policy == self.part):
            if each.unsupported:
                raise Nothing(each.outputs.reason)
        return results

    def _policies(self) -> tuple[str | None, ...]:
        """Return the policies of all selected items of this case."""
        items = [item for item in self.session.items if isinstance(item, CaseItem)]
        asked = [item.part for item in items if item.comparison is self.comparison and item.part != WHOLE]
        default = WRITTEN if self.comparison.against else REMATS[0]
        return tuple(None if part == WRITTEN else part for part in asked or [default])

    def wrong(self, result: CaseResult) -> str | None:
        return wrong_as_a_whole(result) if self.part == WHOLE else wrong(result, self.part)

    def verdicts(self, result: CaseResult) -> list[Verdict]:
        if self.part == WHOLE:
            return [verdict for verdict in (result.parameters, *result.once) if verdict is not None]
        return [
            v for policy in result.policies if policy.policy == self.part for v in (policy.outputs, policy.gradients)
        ]


class RecordedItem(_Item):
    """A loop in the calls of a command, under all policies. Without a `loop`, the item reports the reason."""

    def __init__(
        self, *, comparison: RecordedComparison, loop: RewrittenLoop | None, policies: Sequence[str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.comparison, self.loop = comparison, loop
        self.policies = tuple(None if policy == WRITTEN else policy for policy in policies)

    def results(self) -> Sequence[CaseResult]:
        if self.loop is None:
            self.comparison.project.change  # noqa: B018  # raises the reason
            raise Nothing("no loop is taken out of a function")
        return self.comparison.results_of(self.loop, self.policies)

    def wrong(self, result: CaseResult) -> str | None:
        found = [wrong_as_a_whole(result)]
        if result.error is None:
            found += [wrong(result, policy.policy) for policy in result.policies if not policy.good]
        return "\n".join(text for text in found if text is not None) or None

    def verdicts(self, result: CaseResult) -> list[Verdict]:
        compared = [verdict for policy in result.policies if not policy.unsupported for verdict in _of(policy)]
        return [*(verdict for verdict in (result.parameters, *result.once) if verdict is not None), *compared]


def _of(policy: PolicyResult) -> tuple[Verdict, Verdict]:
    return policy.outputs, policy.gradients
