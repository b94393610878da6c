"""What the tool makes of a project: what it says of each loop, and the texts after its safe fixes."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.stack import CallStack
from scanify.pipeline import Project as Sources
from scanify.pipeline import rewrite_sources
from tests.random_projects.project import Loop, Project
from tests.texts import texts


class Said(Enum):
    """What became of a loop. AT_CALL: rewritten, with the list left a list and stacked where it is called."""

    REWRITTEN = "rewritten"
    AT_CALL = "at the call"
    UNSAFE = "unsafe"
    REFUSED = "refused"
    UNLISTED = "not listed"


@dataclass(frozen=True)
class Rewriting:
    """What was said of each loop of a project, with the reason, and its files afterwards; `crash` is a traceback."""

    said: tuple[Said, ...] = ()
    reasons: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    crash: str | None = None


def rewriting(project: Project, folder: Path) -> Rewriting:
    """Write a project to an empty folder and apply the safe fixes to it, in memory."""
    (folder / ".git").mkdir()
    for name, text in project.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    try:
        outcome = rewrite_sources(Sources.load([folder]))
    except Exception:  # any exception of the tool is a finding
        return Rewriting(crash=traceback.format_exc())
    answers = [_said(loop, folder, outcome.analysis.loops, outcome.applied) for loop in project.loops]
    texts = {path.relative_to(folder).as_posix(): text for path, text in outcome.texts.items()}
    said, reasons = zip(*answers, strict=True)
    return Rewriting(said, reasons, {name: texts.get(name, text) for name, text in project.files.items()})


def _said(loop: Loop, folder: Path, found: tuple[Plan | Refusal, ...], applied: tuple[Plan, ...]) -> tuple[Said, str]:
    here = [
        each
        for each in found
        if each.place.path == folder / loop.file and loop.line <= each.place.span.line <= loop.end
    ]
    if not here:
        return Said.UNLISTED, ""
    each = here[0]
    if isinstance(each, Refusal):
        return Said.REFUSED, f"{each.rule} {each.reason}"
    if each not in applied:
        return Said.UNSAFE, texts(each.obligations)[0]
    return (Said.AT_CALL if isinstance(each.stack, CallStack) else Said.REWRITTEN), each.rule
