"""The calls of one command of a configuration, compared once for all loops that they may show."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from scanify.commands.verifying.by_hand import ByHand, since_for_runs
from scanify.configuration.config import Config
from scanify.pytest_plugin.comparison import Nothing, rewritten
from scanify.verify import verify
from scanify.verify.cache.cache import Cache
from scanify.verify.cases.case import command_case
from scanify.verify.cases.iterations import loops_lost
from scanify.verify.depth import FEWEST
from scanify.verify.verdict import CaseResult


@dataclass(frozen=True)
class RewrittenLoop:
    """A loop that the other version lacks, and the function that contains it."""

    path: Path
    line: int
    scope: str

    def named(self, root: Path) -> str:
        """Return the place, such as `src/model.py:33`."""
        path = self.path.relative_to(root) if self.path.is_relative_to(root) else self.path
        return f"{path.as_posix()}:{self.line}"


class RewrittenProject:
    """A project rewritten by scanify, or its changes since the git revision `against`."""

    def __init__(self, config: Config, against: str | None) -> None:
        self.config, self.against = config, against

    @cached_property
    def change(self) -> ByHand:
        """Both versions of each file. Raises Nothing if no loop is rewritten, ScanifyError like `since_for_runs`."""
        if self.against is not None:
            return since_for_runs(self.against)
        changes = rewritten(self.config, self.config.root, None, undecided=True).changes
        first = next(iter(changes))
        return ByHand(changes, first, first)

    def loops(self) -> Iterator[RewrittenLoop]:
        """Yield the loops that the other version lacks. Raises the errors of `change`."""
        for path, (before, after) in self.change.changes.items():
            for loop in loops_lost(before, after):
                if loop.applies:
                    yield RewrittenLoop(path, loop.line, loop.scope)


class RecordedComparison:
    """The calls that one command makes of a project's functions, in both versions."""

    def __init__(self, project: RewrittenProject, text: str) -> None:
        self.project, self.text = project, text
        self._found: dict[tuple[str | None, ...], Sequence[CaseResult]] = {}

    def results(self, policies: tuple[str | None, ...]) -> Sequence[CaseResult]:
        """Return the results under these policies, one per recorded call. Raises ScanifyError like `verify`."""
        if policies not in self._found:
            change, root = self.project.change, self.project.config.root
            done = verify(
                change.changes,
                [command_case(self.text, root)],
                policies=policies,
                requested=None,
                measure=False,
                target=change.target,
                rewritten_target=None if self.project.against is None else change.rewritten_target,
                data=change.data,
                tree=change.tree,
                cache=Cache.of(root),
            )
            self._found[policies] = done.cases
        return self._found[policies]

    def results_of(self, loop: RewrittenLoop, policies: tuple[str | None, ...]) -> list[CaseResult]:
        """Return the results of calls that failed or that run a loop for at least two iterations.

        Raises Nothing if there are none.
        """
        every = self.results(policies)
        found = [result for result in every if _concerns(result, loop)]
        if not found:
            raise Nothing(f"`{self.text}` makes no call that runs this loop for two iterations or more")
        return [replace(result, depth=None) for result in found]


def _concerns(result: CaseResult, loop: RewrittenLoop) -> bool:
    if result.error is not None:
        called = dict(result.variant).get("call", loop.scope)
        return called.partition(",")[0] == loop.scope
    path = os.path.realpath(loop.path)
    return any(
        os.path.realpath(run.file) == path and run.line == loop.line and (run.iterations or 0) >= FEWEST
        for run in result.loops
    )
