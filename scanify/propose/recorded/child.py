"""The child process that writes cases from the calls of a command. User code runs only here."""

from __future__ import annotations

from scanify.propose.recorded.calls import case_of, check
from scanify.propose.recorded.expressions import Unwritable
from scanify.propose.request import Declined, Proposed, Written
from scanify.verify.cases.iterations import watched_loops
from scanify.verify.children.case_run import message_of
from scanify.verify.children.in_child import serve
from scanify.verify.objects.statics import users_modules
from scanify.verify.recorded.functions import functions_with
from scanify.verify.recorded.process import RecordedProcess
from scanify.verify.request import Request


def main(request_fd: int, response_fd: int, lifeline_fd: int) -> None:
    """Read a Request, run its command, write a `Written` and exit; `verify.process` passes the descriptors."""
    serve((request_fd, response_fd, lifeline_fd), Request, lambda request: request.case.path, _answer)


def _answer(request: Request) -> Written:
    try:
        return _Writing(request).written()
    except BaseException as error:
        return Written(declined=(Declined(None, (message_of(error),)),))


class _Writing(RecordedProcess):
    """Runs the command once on the unchanged source, and writes the calls that it makes."""

    def written(self) -> Written:
        wanted = functions_with(watched_loops(self.request))
        cases: list[Proposed] = []
        functions: list[str] = []
        declined: list[Declined] = []
        with self.overlay, users_modules(self.overlay.is_users):
            run = self.run_original(wanted)
            with self.overlay.active(self.overlay.original):
                for call in run.watcher.calls:
                    try:
                        case = case_of(call, run.watcher.constructions, self.request.case.text)
                        check(case, call)
                        cases.append(case)
                        functions.append(call.function.name)
                    except Unwritable as error:
                        declined.append(Declined(call.function.name, (str(error),)))
        recorded = {call.function for call in run.watcher.calls}
        for function in wanted.keys() - recorded:
            why = run.watcher.unreadable.get(function)
            said = f"its calls cannot be recorded: {why}" if why else f"the run {run.ending.text}, without a call of it"
            declined.append(Declined(function.name, (said,)))
        return Written(tuple(cases), tuple(functions), tuple(declined))
