"""The child process: it runs one case and nothing else, and all user code runs here."""

import json
import os
from contextlib import suppress

from scanify.verify.children.case_run import CaseProcess, message_of
from scanify.verify.children.in_child import serve
from scanify.verify.children.telling import listening
from scanify.verify.recorded.process import RecordedProcess
from scanify.verify.recorded.reached import ReachedProcess
from scanify.verify.request import REACHED, Request, Response
from scanify.verify.verdict import CaseResult
from scanify.verify.versions.other_data import across_trees
from scanify.verify.versions.versions import consulted_by, consulting_of, read_of


def main(request_fd: int, response_fd: int, lifeline_fd: int) -> None:
    """Read a request, run it, write the response and end; the descriptors come from `process.run_child`."""

    def answer(request: Request) -> Response:
        with listening(lambda step: _send_step(response_fd, step)):
            return respond(request, lifeline_fd)

    serve((request_fd, response_fd, lifeline_fd), Request, lambda request: request.case.path, answer)


def _process_for(request: Request, lifeline: int | None) -> CaseProcess:
    if request.case.command is None:
        return CaseProcess(request, lifeline)
    if request.comparer == REACHED:
        return ReachedProcess(request)
    return RecordedProcess(request)


def _send_step(response_fd: int, step: str) -> None:
    with suppress(OSError):
        os.write(response_fd, json.dumps({"step": step}).encode() + b"\n")


def run_case(request: Request) -> tuple[CaseResult, ...]:
    """Run the case in this process, in each of its variants. Errors are returned as the `error` of a result."""
    return respond(request).results


def respond(request: Request, lifeline: int | None = None) -> Response:
    """Return the results of `run_case`, and the files that both versions imported for them.

    With a `lifeline`, in a process that may fork, each version is also run alone (`scanify.verify.children.alone`).
    """
    try:
        run = _process_for(request, lifeline)
        with consulting_of(run.overlay) as record:
            record.watch(request.data)
            results = run.results_or_error()
        consulted = consulted_by(run.overlay, record)
        odd = across_trees(request, run.overlay, record.looked_by, consulted)
        if odd is not None:
            return Response((CaseResult(request.case.text, error=f"{request.case.text}: {odd}"),), other_data=True)
        return Response(results, read_of(run.overlay.original), read_of(run.overlay.rewritten), consulted)
    except BaseException as error:
        return Response((CaseResult(request.case.text, error=message_of(error)),))
