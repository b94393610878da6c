"""The child process of a command: it is run once with each version, and the recorded calls are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanify.verify.cases.case import CaseError
from scanify.verify.cases.iterations import watched_loops
from scanify.verify.children.case_run import CaseProcess, Variant
from scanify.verify.profile.source_loops import Loop
from scanify.verify.recorded.build import RecordedBuild
from scanify.verify.recorded.call import RecordedCall
from scanify.verify.recorded.execution import ENDED, Ending, execute
from scanify.verify.recorded.functions import Function, functions_with, lines_of, same_outside
from scanify.verify.recorded.same import unlike
from scanify.verify.recorded.watch import Watcher
from scanify.verify.verdict import LoopRun
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.settings import Settings


@dataclass(frozen=True, eq=False)
class Run:
    """One run of the command: the recorded calls, and how it ended."""

    watcher: Watcher
    ending: Ending

    def call(self, function: Function, number: int) -> RecordedCall | None:
        calls = (call for call in self.watcher.calls if (call.function, call.number) == (function, number))
        return next(calls, None)


class RecordedProcess(CaseProcess):
    """Compares the calls that a command makes. No version is run again alone, since the command is expensive."""

    def pairs(self, settings: Settings) -> Iterator[tuple[Variant, Any, Any]]:
        """Run the command with both versions, once if they are equal; yield each recorded call with its two builds.

        Raises CaseError if no function with a loop is entered.
        """
        wanted = functions_with(watched_loops(self.request))
        if not wanted:
            raise CaseError(f"{self.request.case.text}: no loop over layers is in a function that can be watched")
        original = self.run_original(wanted)
        settings.undo(self.overlay.original)
        calls = original.watcher.calls
        if not calls:
            raise CaseError(self._nothing_reached(wanted, original))
        if original.ending.text == ENDED:
            self.notes = ("the run was ended at the first calls of these loops: what later calls do is not shown",)
        pairs = [(call, call) for call in calls]
        if any(change.original != change.rewritten for change in self.request.changes):
            pairs = self._ran_rewritten(calls, settings)
        untouched = same_outside(self.request.changes, frozenset(call.function for call in calls))
        for call, other in pairs:
            variant = (("call", _shown(call, calls)),)
            drawn = {name: drawn_of(part.arrays, other.others[name].arrays) for name, part in call.others.items()}
            text, traced = self.request.case.text, call.traced | other.traced
            sides = (self.overlay.original, call), (self.overlay.rewritten, other)
            first, second = (RecordedBuild(text, self.overlay, *side, drawn, traced, untouched) for side in sides)
            file = self.overlay.files(call.function.file) or call.function.file
            first.loops = tuple(LoopRun(file, loop.line, loop.head) for loop in wanted[call.function])
            yield variant, first, second

    def run_original(self, wanted: Mapping[Function, Sequence[Loop]]) -> Run:
        """Run the command with the original source, up to a call of each function that runs its loops often enough."""
        watcher = Watcher(frozenset(wanted), self._is_users, lines=lines_of(wanted))
        return self._ran("run original", self.overlay.original, watcher)

    def _ran_rewritten(
        self, calls: Sequence[RecordedCall], settings: Settings
    ) -> list[tuple[RecordedCall, RecordedCall]]:
        """Run the command with the rewritten version, and pair its calls with the original's."""
        numbers: dict[Function, list[int]] = {}
        for call in calls:
            numbers.setdefault(call.function, []).append(call.number)
        watcher = Watcher(frozenset(numbers), self._is_users, numbers)
        rewritten = self._ran("run rewritten", self.overlay.rewritten, watcher)
        self._check_settings(settings)
        pairs = [(call, self._counterpart(call, rewritten)) for call in calls]
        self._check_repeats(pairs, numbers, settings)
        return pairs

    def _is_users(self, name: str) -> bool:
        return self.overlay.files(name) is not None

    def _ran(self, step: str, version: Version, watcher: Watcher) -> Run:
        command = self.request.case.command
        assert command is not None

        def run() -> Ending:
            with watcher.watching(version):
                return execute(command, self.overlay, version)

        return Run(watcher, self._timed(step, run))

    def _counterpart(self, call: RecordedCall, rewritten: Run) -> RecordedCall:
        other = rewritten.call(call.function, call.number)
        if other is not None and other.others.keys() == call.others.keys():
            return other
        what = f"call {call.number + 1} of {call.function.name}"
        if other is not None:
            raise CaseError(f"{self.request.case.text}: {what} has other parameters in the rewritten version")
        why = rewritten.watcher.unreadable.get(call.function) or f"the run {rewritten.ending.text}"
        raise CaseError(f"{self.request.case.text}: {what} was not recorded with the rewritten version: {why}")

    def _check_repeats(
        self,
        pairs: Sequence[tuple[RecordedCall, RecordedCall]],
        numbers: Mapping[Function, Sequence[int]],
        settings: Settings,
    ) -> None:
        """Raise CaseError if a call differs between the versions, and also between two runs of the original."""
        if all(unlike(*pair) is None for pair in pairs):
            return
        watcher = Watcher(frozenset(numbers), self._is_users, numbers)
        loaded, self.overlay.original.modules = self.overlay.original.modules, {}  # jax caches their traces
        again = self._ran("run original again", self.overlay.original, watcher)
        self.overlay.original.modules = loaded
        settings.undo(self.overlay.original)
        for call, _ in pairs:
            other = again.call(call.function, call.number)
            odd = "it is not called" if other is None else unlike(call, other)
            if odd is not None:
                raise CaseError(
                    f"{self.request.case.text} differs from itself: in a second run of the original, at call "
                    f"{call.number + 1} of {call.function.name}, {odd}. Seed what it draws, and take times and "
                    "downloads out of it"
                )

    def _nothing_reached(self, wanted: Mapping[Function, Sequence[Loop]], run: Run) -> str:
        text = self.request.case.text
        if run.watcher.unreadable:
            said = "; ".join(f"{function.name}: {why}" for function, why in run.watcher.unreadable.items())
            return f"{text}: calls that run the loops cannot be recorded: {said}"
        names = ", ".join(
            f"{function.name} ({self.overlay.files(function.file) or Path(function.file).name}:{loops[0].line})"
            for function, loops in wanted.items()
        )
        more = "; it started other processes, which are not followed" if run.ending.processes else ""
        return f"{text} {run.ending.text}, without a call of {names}{more}"

    def check_apart(self, before: Any, after: Any) -> None:
        """Check nothing: each call is recorded with its own version."""


def _shown(call: RecordedCall, calls: Sequence[RecordedCall]) -> str:
    several = sum(each.function == call.function for each in calls) > 1
    return f"{call.function.name}, call {call.number + 1}" if several else call.function.name


def drawn_of(ours: Sequence[Any], others: Sequence[Any]) -> list[bool]:
    """Return for each array whether it was a tracer in one of the versions."""
    if len(ours) != len(others):  # the comparison reports it
        return [array.values is None for array in ours]
    return [a.values is None or b.values is None for a, b in zip(ours, others, strict=True)]
