"""Analyse the open documents of an editor, saved or not."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from scanify.analysis.decide.decide import Choices
from scanify.analysis.decide.project import decisions
from scanify.analysis.index.module import Module
from scanify.analysis.index.parse import Problem
from scanify.analysis.index.project import Index
from scanify.analysis.lower.candidates import may_hold_loop
from scanify.analysis.lower.loop import Loop
from scanify.analysis.plan import Analysis, Plan, Refusal
from scanify.configuration.config import AUTO, TARGETS, Config, load_config
from scanify.configuration.ignoring import For, comments
from scanify.emit.targets.fit import fitted
from scanify.pipeline import (
    Outcome,
    Project,
    Stack,
    for_target,
    form_of,
    heeded,
    rewrite_sources,
    within_framework,
)
from scanify.report.findings.finding import SKIPPED, Finding, findings, mark_of
from scanify.server.jobs import Answer, Job, Quick, Rewrite, Rewritten, Whole
from scanify.server.reparse import reparsed
from scanify.source.discover import Selection, left_out
from scanify.source.file import Source
from scanify.source.members import project_files
from scanify.source.read import read


class Memory:
    """The cache of one process between jobs: files with their parsed modules, and the trees of edited documents."""

    def __init__(self) -> None:
        self._typed: dict[Path, tuple[str, ast.Module]] = {}
        self._sources: dict[Path, tuple[tuple[int, int], Source | None]] = {}
        self._modules: dict[Path, tuple[Source, Module]] = {}

    def run(self, job: Job) -> Answer | Rewritten:
        """Answer a job. Raises ScanifyError if the configuration is invalid."""
        match job:
            case Whole():
                return _whole(job)
            case Quick():
                return self._quick(job)
            case Rewrite():
                return _rewrite(job)

    def read(self, path: Path) -> Source | None:
        """Return a file on disk, reading it again if it has changed."""
        try:
            status = path.stat()
        except OSError:
            return None
        state = (status.st_mtime_ns, status.st_size)
        known = self._sources.get(path)
        if known is None or known[0] != state:
            found = read(path)
            known = self._sources[path] = (state, found if isinstance(found, Source) else None)
        return known[1]

    def _quick(self, job: Quick) -> Answer:
        config, source = load_config([job.root]), job.opened.source
        path = source.path
        tree = reparsed(source.text, self._typed.get(path))
        if isinstance(tree, Problem):
            return Answer({})
        self._typed = {path: (source.text, tree)}
        touched = [each for each in tree.body if _first(each) <= job.lines[1] and _last(each) >= job.lines[0]]
        if not touched:
            return Answer({path: ()}, job.lines)
        first, last = min(map(_first, touched)), max(map(_last, touched))
        if not chosen_file(path, config) or not may_hold_loop(source.text, tree):
            return Answer({path: ()}, (first, last))

        def inside(other: Path) -> Source | None:
            return self.read(other) if other.is_relative_to(job.root) else None

        modules = {known: module for known, (text, module) in self._modules.items() if inside(known) is text}
        modules.pop(path, None)
        index = Index(job.root, [source], inside, {path: tree}, modules)

        def touching(loop: Loop) -> bool:
            return loop.module.path == path and first <= loop.place.span.line <= last

        stack = _stack(config)
        for _ in range(2):  # files read on the way belong to the project too: analyse again if there were any
            given = frozenset([path, *self._sources])
            loops, _ = decisions(index, [path], Choices(stack, given), among=touching)
            if given.issuperset(self._sources):
                break
        loops = list(within_framework(loops, config.target))
        if config.target != TARGETS[0] and any(isinstance(loop, Plan) for loop in loops):
            # If the target cannot stack layers where their list is built, they are stacked in the call; this needs the
            # project.
            form = form_of(lambda: filter(None, map(index.source, index.paths)), config.target, config.target_version)
            loops = list(fitted(loops, {path: source.text}, form, _policy(config), None))
        for known in index.paths:
            module, text = index.module_at(known), index.source(known)
            if module is not None and text is not None and known != path:
                self._modules[known] = (text, module)
        return Answer(_by_file(Analysis(1, tuple(loops)), config, {path: source.text}), (first, last))


def chosen_file(path: Path, config: Config) -> bool:
    """True if a file belongs to the project and is not excluded by its configuration."""
    if not path.is_relative_to(config.root) or any(map(left_out, path.relative_to(config.root).parts)):
        return False
    return Selection(config.root, config.exclude).excluded_by(path) is None


def _whole(job: Whole) -> Answer:
    config = load_config([job.root])
    sources = [each.source for each in job.opened if chosen_file(each.path, config)]
    if not sources:
        return Answer({})
    listed = project_files(Selection(config.root, config.exclude), [source.path for source in sources])
    project = Project(sources, (), config.root, listed)
    made = For(_stack(config), form_of(project.every, config.target, config.target_version), _policy(config))
    analysis = project.analyse(stack=made.stack, remarks=True, target=made.target)
    analysis = heeded(project, for_target(project, analysis, made.target, made.policy))
    found = dict(_by_file(analysis, config, project.texts()))
    said = comments(project, made)
    idle = [each for each in said if config.chosen.takes(each.rule, each.place.path, config.root)]
    for finding in findings(Analysis(1), project.texts(), config.root, comments=idle).items:
        found[finding.mark.path] = (*found.get(finding.mark.path, ()), finding)
    return Answer(found)


def _by_file(analysis: Analysis, config: Config, texts: Mapping[Path, str]) -> dict[Path, tuple[Finding, ...]]:
    """Return the findings chosen by the configuration. Syntax errors are not reported while the user types."""
    loops, remarks = tuple(filter(config.wants, analysis.loops)), tuple(filter(config.wants, analysis.remarks))
    wanted = Analysis(analysis.files, loops, remarks=remarks).without_undecided()
    found: dict[Path, tuple[Finding, ...]] = {}
    for each in findings(wanted, texts, config.root).items:
        if each.rule != SKIPPED:
            found[each.mark.path] = (*found.get(each.mark.path, ()), each)
    return found


def _rewrite(job: Rewrite) -> Rewritten:
    """Find the loop in the whole project, any file of which may change, and rewrite it."""
    config = load_config([job.root])
    opened = {each.path: each.source for each in job.opened if chosen_file(each.path, config)}
    selection = Selection(config.root, config.exclude)
    found = (read(path) for path in project_files(selection, opened)() if path not in opened)
    sources = [*opened.values(), *(each for each in found if isinstance(each, Source))]
    project = Project(sources, (), config.root, project_files(selection, opened))
    texts = {source.path: source.text for source in sources}

    def asked(loop: Plan | Refusal) -> bool:
        if loop.place.path != job.path:
            return False
        mark = mark_of(loop.place, texts)
        return (mark.line, mark.column, mark.cell) == (job.line, job.column, job.cell)

    outcome = rewrite_sources(
        project,
        stack=_stack(config),
        remat=_policy(config),
        accept=lambda plan: True,
        keep_lists=True,
        target=form_of(project.every, job.target, config.version_of(job.target)),
        wanted=asked,
    )
    changed = {path: (outcome.before[path], outcome.texts[path]) for path in outcome.changes}
    return Rewritten(changed) if changed else Rewritten(why_not=_why_not(outcome, job.target))


def _why_not(outcome: Outcome, target: str) -> str:
    for refused in outcome.refused:
        return f"stays as it is, {refused.rule}: {refused.reason}"
    for held in outcome.held:
        return f"is held back: {held.obligations[0]}"
    return f"is no longer there as it was, or cannot be rewritten for {target}"


def _stack(config: Config) -> Stack | None:
    return cast(Stack | None, config.stack)


def _policy(config: Config) -> str | None:
    return None if config.remat == AUTO else config.remat


def _first(statement: ast.stmt) -> int:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and statement.decorator_list:
        return min(statement.lineno, statement.decorator_list[0].lineno)
    return statement.lineno


def _last(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno
