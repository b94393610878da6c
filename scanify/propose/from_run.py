"""Write cases from the calls of commands, for the command line. This module imports no jax and runs no user code."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.propose.propose import Proposals, check_usage, distinct, ending_of
from scanify.propose.request import Declined, Proposed, Written
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.children.limits import Limits
from scanify.verify.children.process import run_child
from scanify.verify.request import Change, Loops, Request


def propose_from_run(
    target: Path,
    data: bytes,
    watched: Sequence[Loops],
    commands: Sequence[CaseSpec],
    *,
    limits: Limits,
    notify: Callable[[str], None] = lambda step: None,
) -> Proposals:
    """Write a case for each call by the commands of a function with a watched loop in the file `target`.

    `data` is the content of the file. Each command runs once, in a separate process under `limits`. Raises ScanifyError
    if jax or equinox is missing, or if a run is terminated before it answers.
    """
    check_usage()
    path = Path(target).absolute()
    cases: list[Proposed] = []
    calls: set[str | None] = set()
    declined: list[Declined] = []
    for command in commands:
        notify(f"running {command.text}")
        request = Request(
            case=command,
            target=path,
            changes=(Change(path, data, data),),
            policies=(None,),
            requested=None,
            abstract=False,
            measure=False,
            directory=Path.cwd(),
            watched=tuple(watched),
        )
        outcome = run_child(json.dumps(to_json(request)).encode(), limits, "scanify.propose.recorded.child")
        if outcome.response is None:
            raise ScanifyError(ending_of(outcome, limits))
        written = from_json(Written, json.loads(outcome.response))
        for case in written.cases:
            cases.append(distinct(case, cases))
        declined += [replace(each, reasons=(f"{command.text}: {each.reason}",)) for each in written.declined]
        calls |= set(written.functions)
    return Proposals(path, tuple(cases), tuple(each for each in declined if each.cls not in calls))
