"""Propose cases for the command line. This module imports no jax and runs no user code."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.errors import ScanifyError
from scanify.propose.owners import Owner, class_names, owners
from scanify.propose.request import Answer, Ask, Declined, Proposed
from scanify.propose.write import render
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.children.limits import Limits, human_bytes
from scanify.verify.children.process import Outcome, run_child
from scanify.verify.installed import require

LIMITS = Limits(seconds=120.0, memory=4 * 1024**3)
_TAIL = 5
_SHARE = 0.75


@dataclass(frozen=True)
class Proposals:
    """The cases proposed for one file, and the classes without a proposal."""

    target: Path
    cases: tuple[Proposed, ...] = ()
    declined: tuple[Declined, ...] = ()


def propose(
    target: Path,
    text: str,
    plans: Sequence[Plan],
    *,
    classes: Sequence[str] = (),
    limits: Limits = LIMITS,
    notify: Callable[[str], None] = lambda step: None,
) -> Proposals:
    """Propose a case for every class of the file `target` with a loop among `plans`, or for `classes`, by name.

    Each class is tried in a separate process under `limits`: the model is built, and its call is traced on candidates
    for its arguments until one reaches the loops. `text` is the content of the file.

    Raises ScanifyError if jax or equinox is missing, or if a class is not in the file.
    """
    check_usage()
    path = Path(os.path.normpath(target.absolute()))
    spans = [(plan.body.span.line, plan.body.span.end_line) for plan in plans if plan.place.path == path]
    try:
        wanted = _named(text, classes, target) if classes else owners(text, spans)
    except SyntaxError as error:
        where = f"line {error.lineno}: {error.msg}"
        raise ScanifyError(f"{target}: expected Python that {sys.executable} can run: {where}") from None
    cases: list[Proposed] = []
    declined: list[Declined] = []
    for each in wanted:
        notify(f"proposing a case for {each.cls or target.name}")
        # The search ends in time to report its attempts; the limit is for user code that does not return.
        spent = _SHARE * limits.seconds
        ask = Ask(path, Path.cwd(), each.cls, each.methods, each.spans, others=bool(each.spans), seconds=spent)
        outcome = run_child(json.dumps(to_json(ask)).encode(), limits, "scanify.propose.child")
        answer = _answer(outcome, limits)
        if answer.case is None:
            declined.append(Declined(each.cls, answer.reasons, answer.imports))
        elif all(answer.case.cls != case.cls for case in cases):
            cases.append(distinct(answer.case, cases))
    return Proposals(path, tuple(cases), tuple(declined))


@contextmanager
def written(proposals: Proposals) -> Iterator[tuple[CaseSpec, ...]]:
    """Yield the proposed cases for verification, in a temporary file that exists only inside the `with`."""
    with tempfile.TemporaryDirectory(prefix="scanify-") as folder:
        path = Path(folder) / "proposed_cases.py"
        path.write_text(render(proposals.cases, proposals.target.name), encoding="utf-8")
        name = proposals.target.name
        yield tuple(CaseSpec(path, each.function, f"{each.function} (proposed for {name})") for each in proposals.cases)


def check_usage() -> None:
    """Raise ScanifyError if cases cannot be run."""
    require("proposing a case runs the model and")
    if sys.platform == "win32":
        raise ScanifyError("cases are tried in a POSIX process session, which Windows lacks; use WSL")


def _named(text: str, classes: Sequence[str], target: Path) -> list[Owner]:
    known = class_names(text)
    for name in classes:
        if name not in known:
            there = f"it has {', '.join(known)}" if known else "it has none"
            raise ScanifyError(f"{target} has no class {name!r}; {there}")
    return [Owner(name, (), ()) for name in dict.fromkeys(classes)]


def distinct(case: Proposed, others: Sequence[Proposed]) -> Proposed:
    """Make the name of a case unique: `GPT` and `Gpt` give the same name."""
    name, number = case.function, 2
    while any(name == other.function for other in others):
        name, number = f"{case.function}_{number}", number + 1
    if name == case.function:
        return case
    text = case.text.replace(f"def {case.function}(", f"def {name}(", 1)
    return replace(case, function=name, text=text.replace(f"\n{case.function}.sweep = ", f"\n{name}.sweep = "))


def _answer(outcome: Outcome, limits: Limits) -> Answer:
    if outcome.response is not None:
        try:
            return from_json(Answer, json.loads(outcome.response))
        except (ValueError, TypeError) as error:
            return Answer(reasons=(f"its process answered nonsense: {error}",))
    return Answer(reasons=(ending_of(outcome, limits),))


def ending_of(outcome: Outcome, limits: Limits) -> str:
    """Describe how a process ended without an answer, including its last output."""
    if outcome.stopped == "time":
        reason = (
            f"stopped: no case was found within {limits.seconds:g} s. Write a case, or raise the limit with "
            "--time-limit SECONDS"
        )
    elif outcome.stopped == "memory":
        reason = (
            f"stopped: trying it took {human_bytes(outcome.peak)} of memory, more than {human_bytes(limits.memory)}. "
            "Write a case, or raise the limit with --memory-limit SIZE"
        )
    else:
        reason = f"its process ended (exit code {outcome.returncode}) before a case was found"
    said = outcome.output.strip().splitlines()[-_TAIL:]
    return reason + "".join(f"\n    {line}" for line in said)
