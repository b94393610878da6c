"""From source to plans: which loops over modules there are, and what each could become.

libcst takes as long to import as Python to start, so it is loaded only where a file passes the gate.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from scanify.analysis.plan import Analysis, Plan
from scanify.source.file import Source
from scanify.source.gate import may_hold_layer_loop

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
    if os.environ.get("SCANIFY_ENGINE") == "new":
        return _analyse_anew(sources, others(), stack, read)
    candidates = [source for source in sources if may_hold_layer_loop(source.text)]
    if not candidates:
        return Analysis(len(sources))
    from scanify.analysis.decide import decide

    rest = list(others())
    found = decide(sources, candidates, rest, stack, read)
    if os.environ.get("SCANIFY_ENGINE") == "old" or not any(isinstance(loop, Plan) for loop in found.loops):
        return found
    from scanify.analysis.index.project import Index
    from scanify.analysis.second_look import second_look

    every = [*sources, *rest]
    root = Path(os.path.commonpath([str(each.path.parent) for each in every]))
    return replace(found, loops=tuple(second_look(Index(root, every, read), found.loops)))


def _analyse_anew(
    sources: Sequence[Source],
    others: Iterable[Source],
    stack: Literal["init", "call"] | None,
    read: Callable[[Path], Source | None] | None,
) -> Analysis:
    from scanify.analysis.index.project import Index
    from scanify.analysis.plan import Skipped
    from scanify.analysis.planning.decide import Choices
    from scanify.analysis.planning.project import decisions

    paths = [source.path for source in sources]
    if not paths:
        return Analysis(0)
    every = [*sources, *others]
    root = Path(os.path.commonpath([str(each.path.parent) for each in every]))
    index = Index(root, every, read)
    found = decisions(index, paths, Choices(stack, frozenset(each.path for each in every)))
    skipped = [
        Skipped(path, f"syntax error on line {problem.line}: {problem.message}")
        for path, problem in index.problems.items()
        if path in paths
    ]
    return Analysis(len(sources), tuple(found), tuple(skipped))
