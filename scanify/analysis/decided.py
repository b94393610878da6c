"""The stages joined: files are parsed once, and those that may hold a loop are decided about with the whole project."""

import ast
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from scanify.analysis.decide.decide import Choices
from scanify.analysis.decide.project import decisions
from scanify.analysis.index.parse import Problem, parse
from scanify.analysis.index.project import Index
from scanify.analysis.lower.candidates import may_hold_loop
from scanify.analysis.parameters.named import may_walk_parameters
from scanify.analysis.plan import Analysis
from scanify.analysis.unparsed import unparsed
from scanify.source.file import Source


def analyse(
    sources: Sequence[Source],
    *,
    stack: Literal["init", "call"] | None = None,
    read: Callable[[Path], Source | None] | None = None,
    others: Callable[[], Iterable[Source]] = tuple,
    trees: dict[Path, ast.Module | Problem] | None = None,
    parameters: bool = False,
) -> Analysis:
    """Decide about every loop over modules in some files.

    Arguments:
        sources: the files to report loops of.
        stack: "init" or "call" as on the command line; None takes "init", and "call" for lists that come from
            elsewhere.
        read: gives files that are in neither `sources` nor `others`, where an import leads to them; None for a file
            that is not there.
        others: gives the other files of the project, which the answer depends on.
        parameters: whether loops over lists of parameters that are no modules are decided about, too.
        trees: where the files that are parsed on the way are kept, for those who ask more of them.
    """
    # The rest of the project is asked for only where something may be a loop.
    trees = trees if trees is not None else {}
    trees |= {source.path: parse(source.text) for source in sources}
    paths = [
        source.path
        for source in sources
        if may_hold_loop(source.text, trees[source.path]) or (parameters and may_walk_parameters(source.text))
    ]
    if not paths:
        return Analysis(len(sources))
    every = [*sources, *others()]
    root = Path(os.path.commonpath([str(each.path.parent) for each in every]))
    index = Index(root, every, read, trees)
    given = frozenset(each.path for each in every)
    found, in_call = decisions(index, paths, Choices(stack, given, parameters))
    skipped = [
        unparsed(path, source.text, problem)
        for path, problem in index.problems.items()
        if path in paths and (source := index.source(path)) is not None
    ]
    return Analysis(len(sources), tuple(found), tuple(skipped), in_call=lambda: tuple(in_call()))
