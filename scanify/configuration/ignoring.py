"""Comments that suppress findings: find those that suppress nothing or name an unknown rule, and remove them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place, Span
from scanify.analysis.index import Index
from scanify.analysis.lower.ignores import MARK, Ignore, ignores
from scanify.configuration.chosen import near
from scanify.configuration.silenced import comments_about
from scanify.pipeline import Project, Stack, for_target
from scanify.report.findings.finding import Comment, Level
from scanify.report.sentences import listed
from scanify.rules import RULES

if TYPE_CHECKING:
    from scanify.analysis.index.module import Module

UNUSED, UNKNOWN = "SCN301", "SCN302"


@dataclass(frozen=True)
class Idle:
    """A comment some or all of whose codes suppress nothing.

    `codes` are these codes, empty if the comment has none; `unknown` are the codes that are no prefix of a rule.
    Removing them replaces the range from `start` to `end` by `text`.
    """

    place: Place
    codes: tuple[str, ...]
    unknown: tuple[str, ...]
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class For:
    """The options that findings depend on: where layers are stacked, the target and the policy."""

    stack: Stack | None = None
    target: str = "scanify"
    policy: str | None = None


def idle(project: Project, made: For) -> tuple[Idle, ...]:
    """Find the idle comments of the project's sources, by comparison with an analysis without the comments."""
    marked = [source for source in project.sources if MARK in source.text]
    if not marked:
        return ()
    index = Index(project.root, [*marked], project.read)
    modules = {path: module for path in index.paths if (module := index.module_at(path)) is not None}
    asked = {path: ignores(module) for path, module in modules.items()}
    texts = {path: _blanked(module.text, asked[path]) for path, module in modules.items()}
    said = project.analyse(stack=made.stack, texts=texts, remarks=True, target=made.target)
    said = for_target(project, said, made.target, made.policy, texts)
    found: list[Idle] = []
    for path, module in modules.items():
        here = [each for each in (*said.loops, *said.remarks) if each.place.path == path]
        silenced: dict[Ignore, set[str]] = {each: set() for each in asked[path]}
        for one in here:
            for each in comments_about(module, one, asked[path]):
                silenced[each].add(one.rule)
        found += [idle for each, rules in silenced.items() if (idle := _idle(module, each, rules)) is not None]
    return tuple(sorted(found, key=lambda each: (each.place.path, each.place.span.start)))


def comments(project: Project, made: For) -> "list[Comment]":
    """Return a finding for each idle comment."""
    said = []
    for each in idle(project, made):
        for code in each.unknown:
            text = f"no rule begins with {code!r}{near(code)}"
            said.append(Comment(each.place, UNKNOWN, Level.ERROR, text))
        codes = [code for code in each.codes if code not in each.unknown]
        if codes or not each.codes:
            of = f" with {listed(codes)}" if codes else ""
            text = f"the comment silences nothing{of}; `scanify check --fix-ignores` takes it out"
            said.append(Comment(each.place, UNUSED, Level.WARNING, text))
    return said


def without(texts: Mapping[Path, str], found: Iterable[Idle]) -> dict[Path, str]:
    """Return the changed texts without the idle comments, or without the idle codes of a comment."""
    changed: dict[Path, str] = {}
    for each in sorted(found, key=lambda each: -each.start):
        text = changed.get(each.place.path, texts[each.place.path])
        changed[each.place.path] = text[: each.start] + each.text + text[each.end :]
    return changed


def _blanked(text: str, comments: Iterable["Ignore"]) -> str:
    for each in comments:
        text = text[: each.start] + "#" + " " * (each.end - each.start - 1) + text[each.end :]
    return text


def _idle(module: "Module", comment: "Ignore", rules: set[str]) -> Idle | None:
    codes = comment.codes
    if codes is None and rules:
        return None
    unknown = tuple(code for code in codes or () if not any(rule.id.startswith(code.upper()) for rule in RULES))
    used = [code for code in codes or () if code and any(rule.startswith(code.upper()) for rule in rules)]
    idle = tuple(code for code in codes or () if code not in used)
    if codes is not None and not idle and codes:
        return None
    text = module.text
    place = module.place_of(Span(comment.start, comment.end, comment.line, comment.line))
    if used and codes is not None:
        start = text.index("[", comment.start) + 1
        return Idle(place, idle, unknown, start, text.index("]", start), ", ".join(used))
    start, end = _whole(text, comment.start, comment.end)
    return Idle(place, idle, unknown, start, end, "")


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of a comment with the blanks before it, or of its whole line if nothing else is on it."""
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    blanks = text[begin:start]
    last = end
    while last < len(text) and text[last] not in "\r\n":
        last += 1
    if blanks.strip() or text[end:last].strip():
        return begin + len(blanks.rstrip()) if not text[end:last].strip() else start, end
    following = 2 if text[last : last + 2] == "\r\n" else 1
    return begin, min(last + following, len(text))
