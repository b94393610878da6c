"""Find the loops that a case runs, and their layers: a case can only verify a loop that it reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx

from scanify.verify.cases.build import Case, build
from scanify.verify.cases.iterations import Iterations
from scanify.verify.profile.source_loops import Loop
from scanify.verify.verdict import CaseResult


def reached_case(
    name: str, before: Case, after: Case, *, abstract: bool, loops: Mapping[str, Sequence[Loop]], **unused: Any
) -> CaseResult:
    """Build the original model, trace its call, and return the result with the runs of these `loops`.

    A comparer for `scanify.verify.run.verify` that compares nothing.
    """
    iterations = Iterations(loops)
    with iterations.watching():
        built = build(before, abstract=abstract)
        eqx.filter_eval_shape(lambda model, args, kwargs: model(*args, **kwargs), *built.tree)
    return CaseResult(name, loops=iterations.runs(None, Iterations({})))
