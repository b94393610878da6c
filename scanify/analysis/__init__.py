"""From source to plans: which loops over modules there are, and what each could become.

index ── Module ─> lower ── Loop ─> flow ── LoopShape ─────┐
lists ── LayerList ─> uses ── Uses ────────────────────────┼─> decide ── LoopFact ─> Plan | Refusal
language ── obligations of a body, types of layers, carries ┘
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from scanify.analysis.index.parse import Problem
    from scanify.analysis.plan import Analysis
    from scanify.source.file import Source

__all__ = ["analyse"]


def analyse(
    sources: "Sequence[Source]",
    *,
    stack: Literal["init", "call"] | None = None,
    read: "Callable[[Path], Source | None] | None" = None,
    others: "Callable[[], Iterable[Source]]" = tuple,
    trees: "dict[Path, ast.Module | Problem] | None" = None,
    parameters: bool = False,
    block_seqs: bool = False,
) -> "Analysis":
    """Decide about every loop over modules in some files.

    Arguments:
        sources: the files to report loops of.
        stack: "init" or "call" as on the command line; None takes "init", and "call" for lists that come from
            elsewhere.
        read: gives files that are in neither `sources` nor `others`, where an import leads to them; None for a file
            that is not there.
        others: gives the other files of the project, which the answer depends on.
        parameters: whether loops over lists of parameters that are no modules are decided about, too.
        block_seqs: whether `haliax.nn.BlockSeq`s that are there are decided about, too.
        trees: where the files that are parsed on the way are kept, for those who ask more of them.
    """
    # What reads files knows the facts of this package: its rooms are loaded when there is something to decide.
    from scanify.analysis.decided import decided

    kept = trees if trees is not None else {}
    return decided(
        sources, stack=stack, read=read, others=others, trees=kept, parameters=parameters, block_seqs=block_seqs
    )
