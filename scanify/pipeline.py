"""The pipeline from paths to changed texts: it joins the stages, and neither prints nor writes anything."""

import ast
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from scanify.analysis import analyse, as_cells_allow, remarks_on, with_watchers
from scanify.analysis.facts import Place
from scanify.analysis.index import Index
from scanify.analysis.index.parse import parse
from scanify.analysis.kept_lists import lists_kept, with_lists
from scanify.analysis.lower.candidates import may_hold_loop
from scanify.analysis.lower.ignores import MARK
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.plan import BEYOND_THE_TARGET, Analysis, Framework, Plan, Refusal, Remark, Skipped
from scanify.analysis.remarks.words import may_have_remarks
from scanify.analysis.stack import InitStack
from scanify.analysis.undecided import with_undecided
from scanify.configuration.config import OF_FRAMEWORKS
from scanify.configuration.silenced import silenced
from scanify.emit import fitted, knows_haliax, of_framework, rewrite_texts, sites
from scanify.emit import form_of as form
from scanify.emit import with_policy as changed
from scanify.outcome import HeldBack as HeldBack
from scanify.outcome import Outcome as Outcome
from scanify.source.discover import Selection, discover, is_foreign
from scanify.source.file import Source
from scanify.source.members import project_files
from scanify.source.notebook.text import is_notebook
from scanify.source.reached import reached
from scanify.source.read import decode, encode, read
from scanify.source.root import normal, project_root

if TYPE_CHECKING:
    from scanify.analysis.index.parse import Problem

Stack = Literal["init", "call"]
OF_PARAMETERS = frozenset({"lax"})
"""Targets for which lists of parameters, which are no modules, count as lists of layers."""


class Project:
    """The named files, which alone are reported and changed, and the project that contains them.

    Naming files never changes the analysis: the result for a file is the same whether it is named alone or with others.
    All paths are absolute.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        skipped: Iterable[Skipped],
        root: Path,
        others: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        self.sources = tuple(sources)
        self.skipped = tuple(skipped)
        self.root = root
        self._others = others
        self._read: dict[Path, Source | None] = {source.path.resolve(): source for source in self.sources}

    @classmethod
    def load(
        cls, paths: Iterable[Path], *, selection: Selection | None = None, programs: Iterable[Path] = ()
    ) -> "Project":
        """Read every file in `paths`. Raises ScanifyError if one does not exist.

        `programs` are files outside of the project's folder that use it; they and their imports are analysed as well.
        """
        given, more = list(paths), [normal(path) for path in programs]
        if selection is None:
            selection = Selection(project_root(given))
        found = [read(normal(file)) for file in discover(given, selection)]
        sources = [each for each in found if isinstance(each, Source)]
        skipped = [each for each in found if isinstance(each, Skipped)]
        root = Path(os.path.commonpath([selection.root, *(path.parent for path in more)]))
        listed = project_files(selection, given)
        return cls(sources, skipped, root, lambda: dict.fromkeys([*listed(), *more]))

    @classmethod
    def of_text(cls, data: bytes, path: Path, *, root: Path, selection: Selection | None = None) -> "Project":
        """Create a project in which the file at `path` has another text, such as standard input.

        Without a `selection`, only this text and its imports are analysed.
        """
        source = decode(normal(path), data)
        others = project_files(selection, [path]) if selection is not None else tuple
        if isinstance(source, Source):
            return cls([source], [], root, others)
        return cls([], [source], root, others)

    def read(self, path: Path) -> Source | None:
        """Return the file at `path`, if it is below `root` and not in a folder of installed packages."""
        real = path.resolve()
        if real not in self._read:
            inside = path.is_relative_to(self.root) and not any(map(is_foreign, path.relative_to(self.root).parts))
            source = read(path) if inside and path.is_file() else None
            self._read[real] = source if isinstance(source, Source) else None
        return self._read[real]

    @cached_property
    def others(self) -> tuple[Source, ...]:
        """The files of the project that were not named, including all imported ones. They are read on demand."""
        named = {source.path for source in self.sources}
        found = (self.read(path) for path in self._others() if path not in named)
        listed = [source for source in found if source is not None and source.path not in named]
        return (*listed, *reached([*self.sources, *listed], self.root, self.read))

    def every(self) -> tuple[Source, ...]:
        """Return all files of the project, named ones first."""
        return (*self.sources, *self.others)

    def looked_for(self) -> tuple[tuple[Path, Source | None], ...]:
        """Return the paths looked up outside of the project's own files so far, with the files found."""
        own = {source.path.resolve() for source in (*self.sources, *self.others)}
        return tuple((path, source) for path, source in self._read.items() if path not in own)

    def with_texts(self, texts: Mapping[Path, str]) -> "Project":
        """Return the project with other texts for named files."""
        sources = [replace(each, text=texts.get(each.path, each.text)) for each in self.sources]
        return Project(sources, self.skipped, self.root, self._others)

    def texts(self) -> dict[Path, str]:
        """Return the text of every file read so far, by path."""
        return {source.path: source.text for source in self._read.values() if source is not None}

    def source(self, path: Path) -> Source:
        """Return the file at `path`, which must have been read."""
        source = self._read[path.resolve()]
        assert source is not None
        return source

    def analyse(
        self,
        *,
        stack: Stack | None = None,
        texts: Mapping[Path, str] = MappingProxyType({}),
        remarks: bool = False,
        target: str = "scanify",
    ) -> Analysis:
        """Find every loop over layers in the named files, using `texts` instead of the contents of the files.

        With `remarks`, also report remarks on existing stacks and scans. Some targets support more layers than Equinox
        modules.
        """

        def current(source: Source) -> Source:
            text = texts.get(source.path, source.text)
            return source if text is source.text else replace(source, text=text)

        def read_current(path: Path) -> Source | None:
            source = self.read(path)
            return None if source is None else current(source)

        def finished(loops: Sequence[Plan | Refusal]) -> tuple[Plan | Refusal, ...]:
            if not any(isinstance(loop, Plan) for loop in loops):
                return tuple(loops)
            loops = with_watchers(loops, index())
            books = any(isinstance(loop, Plan) and any(map(is_notebook, files_of(loop))) for loop in loops)
            return as_cells_allow(loops, lambda path: current(self.source(path)).text) if books else tuple(loops)

        @cache
        def index() -> "Index":
            return Index(self.root, map(current, self.every()), read_current, trees)

        sources = [current(source) for source in self.sources]
        trees: dict[Path, ast.Module | Problem] = {}  # parsed once for all stages
        found = analyse(
            sources,
            stack=stack,
            index=index,
            trees=trees,
            parameters=target in OF_PARAMETERS,
        )
        said: tuple[Remark, ...] = ()
        if remarks and (telling := [each for each in sources if may_have_remarks(each.text)]):
            said = remarks_on(telling, index())
        skipped = sorted((*self.skipped, *found.skipped), key=lambda each: each.path)
        in_call = (lambda again=found.in_call: finished(again())) if stack is None and found.in_call else None
        return Analysis(len(self.sources) + len(self.skipped), finished(found.loops), tuple(skipped), said, in_call)

    def may_hold_findings(self) -> bool:
        """True if the named files may have findings, based on a quick scan of each file by itself."""
        texts = [source.text for source in self.sources]
        if any(MARK in text or may_have_remarks(text) for text in texts):
            return True
        return any(may_hold_loop(text, parse(text)) for text in texts)

    def not_named(self, plan: Plan) -> tuple[Path, ...]:
        """Return the files that a plan changes although they were not named, so that they must not be changed."""
        return tuple(sorted(files_of(plan) - {source.path for source in self.sources}))


def rewrite_sources(
    project: Project,
    *,
    stack: Stack | None = None,
    remat: str | None = None,
    accept: Callable[[Plan], bool] = lambda plan: plan.safe,
    target: str = "scanify",
    wanted: Callable[[Plan | Refusal], bool] = lambda loop: True,
    keep_lists: bool = False,
    undecided: Callable[[Place], bool] = lambda place: False,
) -> Outcome:
    """Analyse the project and apply the accepted plans, by default the safe ones.

    `remat` is a policy by its name on the command line, None for the default of the runtime. `target` is the name of
    the target. Loops that are not `wanted` stay, and are not reported. With `keep_lists`, a list that other code may
    need stays a list if it can; without, only if nothing else is open. Loops whose layers the source leaves open become
    plans at `undecided` places. Raises CheckFailed if an edit fails a check on all edits.
    """
    policy = _expression(remat)
    found = with_undecided(project.analyse(stack=stack, target=target), undecided, accept)
    analysis = for_target(project, found, target, remat, accept=accept, keep_lists=keep_lists)
    plans = [loop for loop in analysis.loops if isinstance(loop, Plan)]
    beyond = tuple((plan, files) for plan in plans if wanted(plan) and (files := project.not_named(plan)))
    within = [plan for plan in plans if not project.not_named(plan)]
    applied = _together([plan for plan in within if wanted(plan) and accept(plan)], plans, target)
    held = tuple(_held(plan) for plan in within if wanted(plan) and plan not in applied)
    told = heeded(project, replace(analysis, loops=tuple(filter(wanted, analysis.loops))))
    before = project.texts()
    if not applied:
        return Outcome(told, (), held, beyond, before, before)

    def reanalyse(texts: Mapping[Path, str]) -> Sequence[Plan]:
        # A loop that was held back still exists, perhaps on another line, and is recognised by its text. A loop that
        # was refused because it is inside another one may be allowed now, but only in a second run.
        left = {_loop_text(before, loop) for loop in analysis.loops if loop not in applied}
        again = project.analyse(stack=stack, texts=texts, target=target)
        return [
            loop
            for loop in again.loops
            if isinstance(loop, Plan) and _loop_text(texts, loop) not in left and not project.not_named(loop)
        ]

    texts = {
        **before,
        **rewrite_texts(before, applied, remat=policy, reanalyse=reanalyse, target=target),
    }
    changes = {
        path: (encode(project.source(path), before[path]), encode(project.source(path), text))
        for path, text in sorted(texts.items())
        if text != before[path]
    }
    return Outcome(told, applied, held, beyond, before, texts, changes)


def with_policy(outcome: Outcome, project: Project, remat: str) -> Outcome:
    """Also change the policy of existing stacks in the named files."""
    own = {source.path: outcome.texts.get(source.path, source.text) for source in project.sources}
    texts, policies = changed(own, _expression(remat) or remat)
    changes = {
        path: (encode(project.source(path), project.source(path).text), encode(project.source(path), text))
        for path, text in sorted(texts.items())
    }
    before = outcome.before or project.texts()
    return replace(
        outcome,
        before=before,
        texts={**before, **outcome.texts, **texts},
        changes=dict(sorted({**outcome.changes, **changes}.items())),
        policies=policies,
    )


def form_of(sources: Callable[[], Iterable[Source]], target: str, target_version: str | None) -> str:
    """Return the emitter for a target: haliax has several, for the named or the installed release.

    `sources` are the files of the project, which are searched if no release is named. Raises ScanifyError if the
    release is unknown, or if the target has only one form.
    """
    if target != "haliax" and target_version is None:
        return target
    looked_at = sources() if target_version is None else ()
    return form(target, target_version, own=any(knows_haliax(source.text) for source in looked_at))


def for_target(
    project: Project,
    found: Analysis,
    target: str,
    policy: str | None,
    texts: Mapping[Path, str] = MappingProxyType({}),
    *,
    accept: Callable[[Plan], bool] = lambda plan: plan.safe,
    keep_lists: bool = False,
) -> Analysis:
    """Restrict the loops to those that a target can express under a policy, by its name on the command line.

    `texts` are the texts that were analysed instead of the contents of files. For `accept` and `keep_lists`, see
    `rewrite_sources`.
    """
    fits = _fitted(project, found, target, policy, texts)
    if found.in_call is not None and (kept := lists_kept(fits.loops, accept, elsewhere=keep_lists)):
        again = _fitted(
            project, replace(found, loops=with_lists(found.loops, found.in_call(), kept)), target, policy, texts
        )
        both = zip(fits.loops, again.loops, strict=True)
        fits = replace(fits, loops=tuple(old if isinstance(new, Refusal) else new for old, new in both))
    return fits


def _fitted(project: Project, found: Analysis, target: str, policy: str | None, texts: Mapping[Path, str]) -> Analysis:
    found = replace(found, loops=within_framework(found.loops, target))
    if target == "scanify" or not any(isinstance(loop, Plan) for loop in found.loops):
        return found
    fits = fitted(found.loops, {**project.texts(), **texts}, target, _expression(policy), found.in_call)
    return replace(found, loops=fits)


def within_framework(loops: Sequence[Plan | Refusal], target: str) -> tuple[Plan | Refusal, ...]:
    """Refuse loops over modules of a framework other than the target's."""
    own = next((name for name, targets in OF_FRAMEWORKS.items() if target in targets), Framework.EQUINOX.value)
    if all(isinstance(loop, Refusal) or loop.framework.value == own for loop in loops):
        return tuple(loops)
    return of_framework(loops, target)


def heeded(project: Project, found: Analysis) -> Analysis:
    """Drop loops refused for the target that a comment suppresses.

    Such a loop stays a loop, and its list a list, as without the comment.
    """
    if not any(loop.rule == BEYOND_THE_TARGET for loop in found.loops):
        return found
    marked = [source for source in project.sources if MARK in source.text]
    index = Index(project.root, marked, project.read)
    quiet = silenced(index, [loop for loop in found.loops if loop.rule == BEYOND_THE_TARGET])
    return replace(found, loops=tuple(loop for loop in found.loops if loop not in quiet))


def _expression(policy: str | None) -> str | None:
    return "False" if policy == "none" else policy


def _held(plan: Plan) -> Plan:
    """Give the reason why a plan is not applied: a safe one waits for another loop over its list."""
    waits = Obligation(Kind.LAYERS, "another loop over its list is held back", plan.place)
    return plan if plan.obligations else replace(plan, obligations=(waits,))


def _together(plans: Sequence[Plan], all_of_them: Sequence[Plan], target: str) -> tuple[Plan, ...]:
    """Drop plans whose list another loop still iterates over, if stacks of the target are not lists."""
    if target == "scanify":
        return tuple(plans)
    left = [plan for plan in all_of_them if plan not in plans]
    mine = [plan for plan in plans if not any(sites(plan) & sites(other) for other in left)]
    return tuple(mine) if len(mine) == len(plans) else _together(mine, all_of_them, target)


def _loop_text(texts: Mapping[Path, str], plan: Plan | Refusal) -> tuple[Path, str]:
    path, span = plan.place.path, plan.place.span
    return path, texts[path][span.start : span.end]


def files_of(plan: Plan) -> frozenset[Path]:
    """Return the files that a plan changes: those of the loop, of the construction of its list, and of annotations."""
    paths = {plan.place.path}
    if isinstance(plan.stack, InitStack):
        paths |= {site.place.path for site in plan.stack.sites}
        paths |= {annotation.place.path for annotation in plan.stack.annotations}
    return frozenset(paths)
