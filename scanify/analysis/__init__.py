"""From source to plans: which loops over modules there are, and what each could become.

libcst takes as long to import as Python to start, so it is loaded only where a file passes the gate.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from scanify.analysis.plan import Analysis
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
    candidates = [source for source in sources if may_hold_layer_loop(source.text)]
    if not candidates:
        return Analysis(len(sources))
    from scanify.analysis.decide import decide

    return decide(sources, candidates, list(others()), stack, read)
