"""Find the loops that a command runs: it is run once, with the original source, and its recorded calls are traced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import equinox as eqx

from scanify.verify.cases.build import build
from scanify.verify.cases.iterations import Iterations, watched_loops
from scanify.verify.objects.statics import users_modules
from scanify.verify.profile.source_loops import Loop
from scanify.verify.recorded.build import RecordedBuild
from scanify.verify.recorded.call import RecordedCall
from scanify.verify.recorded.functions import Function, function_of_loop, functions_with
from scanify.verify.recorded.process import RecordedProcess, Run, drawn_of
from scanify.verify.verdict import CaseResult, LoopRun


class ReachedProcess(RecordedProcess):
    """Counts the iterations of the watched loops in the calls that a command makes; it compares nothing."""

    def results(self) -> Iterator[CaseResult]:
        """Yield one result with all watched loops in `loops`, including the reasons for loops without a call."""
        self._timed("import jax", self._comparer)
        loops = watched_loops(self.request)
        with self.overlay, users_modules(self.overlay.is_users):
            run = self.run_original(functions_with(loops))
            counts = {(call.function, call.number): self._counted(call, loops) for call in run.watcher.calls}
        ending = run.ending.text if run.ending.text.startswith("raised") else ""
        notes = (f"{self.request.case.text} {ending}",) if ending else ()
        yield CaseResult(self.request.case.text, loops=tuple(_runs(loops, run, counts)), notes=notes)

    def _counted(self, call: RecordedCall, loops: Mapping[str, Sequence[Loop]]) -> Iterations | str:
        """Trace a recorded call. Return why it cannot be traced if it cannot."""
        iterations = Iterations(loops)
        same = {name: drawn_of(part.arrays, part.arrays) for name, part in call.others.items()}
        case = RecordedBuild(self.request.case.text, self.overlay, self.overlay.original, call, same, call.traced)
        try:
            built = build(case, abstract=False)
            with iterations.watching(), self.overlay.active(self.overlay.original):
                eqx.filter_eval_shape(lambda model, args, kwargs: model(*args, **kwargs), *built.tree)
        except Exception as error:  # the user's code may raise anything
            said = str(error).strip().splitlines()
            return f"{type(error).__name__}: {said[0] if said else ''}"
        return iterations


def _runs(
    loops: Mapping[str, Sequence[Loop]], run: Run, counts: Mapping[tuple[Function, int], Iterations | str]
) -> Iterator[LoopRun]:
    for path, some in loops.items():
        for loop in some:
            function = function_of_loop(path, loop)
            mine = [found for (called, _), found in counts.items() if called == function]
            counted = [found for found in mine if isinstance(found, Iterations) and loop in found.most]
            if counted:
                most = max(counted, key=lambda found: found.most[loop])
                yield LoopRun(path, loop.line, loop.head, most.most[loop], layers=most.layers.get(loop))
            else:
                yield LoopRun(path, loop.line, loop.head, why=_why(loop, function, run, mine))


def _why(loop: Loop, function: Function | None, run: Run, calls: Sequence[Iterations | str]) -> str:
    if function is None:
        return "it is in a constructor, or in the body of a module or a class, which no call shows"
    name = function.name
    if function not in run.watcher.entered:
        more = "; the run started other processes, which are not followed" if run.ending.processes else ""
        return f"{name} is never called{more}"
    if not calls:
        return f"calls of {name} cannot be recorded: {run.watcher.unreadable.get(function, 'there is no reason')}"
    errors = [found for found in calls if isinstance(found, str)]
    if errors:
        return f"a call of {name} cannot be traced outside of the run: {errors[0]}"
    return f"the recorded calls of {name} do not run it"
