"""From source to plans: which loops over modules there are, and what each could become.

index ── Module ─> lower ── Loop ─> flow ── LoopShape ─┐
index ── classes, names ─> values ── Value, Effect ────┴─> loops ── LoopFact ─> planning ── Plan | Refusal
"""

import ast
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scanify.analysis.index.parse import Problem, parse
from scanify.analysis.lower.candidates import candidates
from scanify.analysis.plan import Analysis, Skipped
from scanify.source.file import Source
from scanify.source.notebook.text import Cells, is_notebook

if TYPE_CHECKING:
    from scanify.analysis.index.project import Index

__all__ = ["analyse"]


def analyse(
    sources: Sequence[Source],
    *,
    stack: Literal["init", "call"] | None = None,
    read: Callable[[Path], Source | None] | None = None,
    others: Callable[[], Iterable[Source]] = tuple,
) -> Analysis:
    """Decide about every loop over modules in some files.

    Arguments:
        sources: the files to report loops of.
        stack: "init" or "call" as on the command line; None takes "init", and "call" for lists that come from
            elsewhere.
        read: gives files that are in neither `sources` nor `others`, where an import leads to them; None for a file
            that is not there.
        others: gives the other files of the project, which the answer depends on.
    """
    trees = {source.path: parse(source.text) for source in sources}
    paths = [source.path for source in sources if _may_hold_loop(source.text, trees[source.path])]
    if not paths:
        return Analysis(len(sources))
    from scanify.analysis.index.project import Index
    from scanify.analysis.planning.decide import Choices
    from scanify.analysis.planning.project import decisions

    every = [*sources, *others()]
    root = Path(os.path.commonpath([str(each.path.parent) for each in every]))
    index = Index(root, every, read, trees)
    found = decisions(index, paths, Choices(stack, frozenset(each.path for each in every)))
    skipped = [
        Skipped(path, f"syntax error {_where(index, path, problem.line)}: {problem.message}")
        for path, problem in index.problems.items()
        if path in paths
    ]
    return Analysis(len(sources), tuple(found), tuple(skipped))


def _where(index: "Index", path: Path, line: int) -> str:
    source = index.source(path)
    cell = Cells(source.text).at(line, line) if source is not None and is_notebook(path) else None
    return f"on line {line}" if cell is None else f"on line {cell.line} of cell {cell.number}"


def _may_hold_loop(text: str, tree: ast.Module | Problem) -> bool:
    return isinstance(tree, Problem) or next(candidates(text, tree), None) is not None
