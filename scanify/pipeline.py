"""The straight line from paths to changed files: the stages joined, with nothing printed and nothing written."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from scanify.analysis.plan import Analysis, InitStack, Plan, Refusal, Skipped
from scanify.config import common_folder
from scanify.source.discover import discover, left_out
from scanify.source.file import Source
from scanify.source.read import decode, encode, read

Stack = Literal["init", "call"]


def normal(path: Path) -> Path:
    """`path` made absolute and without `..`; symbolic links stay."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # Path.resolve follows links, Path.absolute keeps `..`


class Project:
    """The files that were named, which alone may change, and on demand those below `root` that they import.

    Every path is absolute.
    """

    def __init__(self, sources: Iterable[Source], skipped: Iterable[Skipped], root: Path) -> None:
        self.sources = tuple(sources)
        self.skipped = tuple(skipped)
        self.root = root
        self._read: dict[Path, Source | None] = {source.path.resolve(): source for source in self.sources}

    @classmethod
    def load(cls, paths: Iterable[Path], *, exclude: Sequence[str] = (), root: Path | None = None) -> "Project":
        """Read every file that `paths` stand for. Raises ScanifyError where one does not exist."""
        given = list(paths)
        top = root or common_folder(given)
        found = [read(normal(file)) for file in discover(given, exclude=exclude, root=top)]
        sources = [each for each in found if isinstance(each, Source)]
        return cls(sources, [each for each in found if isinstance(each, Skipped)], top)

    @classmethod
    def of_text(cls, data: bytes, path: Path, *, root: Path) -> "Project":
        """A project of one file that came from elsewhere, such as standard input."""
        source = decode(normal(path), data)
        return cls([source], [], root) if isinstance(source, Source) else cls([], [source], root)

    def read(self, path: Path) -> Source | None:
        """The file at `path`, where it lies below `root` and outside of the folders that are passed over."""
        real = path.resolve()
        if real not in self._read:
            inside = path.is_relative_to(self.root) and not any(map(left_out, path.relative_to(self.root).parts))
            source = read(path) if inside and path.is_file() else None
            self._read[real] = source if isinstance(source, Source) else None
        return self._read[real]

    def texts(self) -> dict[Path, str]:
        """The text of every file read so far, by its path."""
        return {source.path: source.text for source in self._read.values() if source is not None}

    def source(self, path: Path) -> Source:
        """The file at `path`, which must have been read."""
        source = self._read[path.resolve()]
        assert source is not None
        return source

    def analyse(self, *, stack: Stack | None = None, texts: Mapping[Path, str] = MappingProxyType({})) -> Analysis:
        """Every loop over layers in the files named, with `texts` in place of what the files hold."""
        from scanify.analysis import analyse  # libcst is loaded only by the files that need it

        def current(source: Source) -> Source:
            text = texts.get(source.path, source.text)
            return source if text is source.text else replace(source, text=text)

        def read_current(path: Path) -> Source | None:
            source = self.read(path)
            return None if source is None else current(source)

        found = analyse([current(source) for source in self.sources], stack=stack, read=read_current)
        skipped = sorted((*self.skipped, *found.skipped), key=lambda each: each.path)
        return Analysis(len(self.sources) + len(self.skipped), found.loops, tuple(skipped))


@dataclass(frozen=True)
class Outcome:
    """What a rewrite would do: nothing is written yet. `held` are the plans that are unsafe and were not applied.

    `before` and `texts` hold every file read, as it is and as it would be; `changes` the bytes `(before, after)` of
    those that change.
    """

    analysis: Analysis
    applied: tuple[Plan, ...] = ()
    held: tuple[Plan, ...] = ()
    before: Mapping[Path, str] = field(default_factory=dict)
    texts: Mapping[Path, str] = field(default_factory=dict)
    changes: Mapping[Path, tuple[bytes, bytes]] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        return tuple(loop for loop in self.analysis.loops if isinstance(loop, Refusal))


def rewrite_sources(
    project: Project,
    *,
    stack: Stack | None = None,
    remat: str | None = None,
    accept: Callable[[Plan], bool] = lambda plan: plan.safe,
) -> Outcome:
    """Analyse the project and apply the plans that `accept` says yes to: without it, the safe ones.

    `remat` is a policy by its name on the command line, None for that of the runtime. Raises CheckFailed where an edit
    breaks one of the checks that every edit must pass.
    """
    analysis = project.analyse(stack=stack)
    plans = [loop for loop in analysis.loops if isinstance(loop, Plan)]
    applied = tuple(plan for plan in plans if accept(plan))
    held = tuple(plan for plan in plans if not accept(plan))
    before = project.texts()
    if not applied:
        return Outcome(analysis, (), held, before, before)

    from scanify.emit import rewrite_texts

    def reanalyse(texts: Mapping[Path, str]) -> Sequence[Plan]:
        # A loop that was held back is still there, perhaps on another line, and is known by its text. One that was
        # refused because it stands inside another one may be free of that now: it is for a second run.
        left = {_loop_text(before, loop) for loop in analysis.loops if loop not in applied}
        again = project.analyse(stack=stack, texts=texts)
        return [loop for loop in again.loops if isinstance(loop, Plan) and _loop_text(texts, loop) not in left]

    texts = {
        **before,
        **rewrite_texts(before, applied, remat="False" if remat == "none" else remat, reanalyse=reanalyse),
    }
    changes = {
        path: (encode(project.source(path), before[path]), encode(project.source(path), text))
        for path, text in sorted(texts.items())
        if text != before[path]
    }
    return Outcome(analysis, applied, held, before, texts, changes)


def _loop_text(texts: Mapping[Path, str], plan: Plan | Refusal) -> tuple[Path, str]:
    path, span = plan.place.path, plan.place.span
    return path, texts[path][span.start : span.end]


def files_of(plan: Plan) -> frozenset[Path]:
    """The files that a plan changes: that of the loop, and those where its list is built and annotated."""
    paths = {plan.place.path}
    if isinstance(plan.stack, InitStack):
        paths |= {site.place.path for site in plan.stack.sites}
        paths |= {annotation.place.path for annotation in plan.stack.annotations}
    return frozenset(paths)
