"""All stages in sequence: parse each file once, and decide about the files that may contain a loop."""

import ast
import os
from collections.abc import Callable, Sequence
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
    index: Callable[[], Index] | None = None,
    trees: dict[Path, ast.Module | Problem] | None = None,
    parameters: bool = False,
) -> Analysis:
    """Decide about every loop over modules in some files.

    Arguments:
        sources: the files whose loops are reported.
        stack: "init" or "call" as on the command line; None means "init", or "call" for lists that come from
            elsewhere.
        index: returns the whole project, on which the result depends; called if a file may contain a loop. None if
            `sources` are the whole project.
        parameters: whether to decide about loops over lists of parameters that are no modules, too.
        trees: receives the parsed files, so that callers need not parse them again.
    """
    trees = trees if trees is not None else {}
    trees |= {source.path: parse(source.text) for source in sources}
    paths = [
        source.path
        for source in sources
        if may_hold_loop(source.text, trees[source.path]) or (parameters and may_walk_parameters(source.text))
    ]
    if not paths:
        return Analysis(len(sources))
    root = Path(os.path.commonpath([str(each.path.parent) for each in sources]))
    whole = index() if index is not None else Index(root, sources, trees=trees)
    found, in_call = decisions(whole, paths, Choices(stack, frozenset(whole.paths), parameters))
    texts = {source.path: source.text for source in sources if source.path in paths}
    skipped = [unparsed(path, texts[path], problem) for path, problem in whole.problems.items() if path in texts]
    return Analysis(len(sources), tuple(found), tuple(skipped), in_call=lambda: tuple(in_call()))
