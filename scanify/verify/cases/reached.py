"""Which lines of the user's code a case runs: a case can only verify a loop that it reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx

from scanify.verify.cases.build import Case, build
from scanify.verify.profile.hooks import lines_run
from scanify.verify.verdict import CaseResult

Files = Callable[[str], str | None]


def reached_case(name: str, before: Case, after: Case, *, abstract: bool, files: Files, **unused: Any) -> CaseResult:
    """Build the original model, trace its call, and answer the lines of the user's files that ran, as `reached`.

    A comparer of `scanify.verify.run.verify`, which it compares nothing for.
    """
    with lines_run(lambda name: files(name) is not None, set()) as lines:
        built = build(before, abstract=abstract)
        eqx.filter_eval_shape(lambda model, args, kwargs: model(*args, **kwargs), *built.tree)
    return CaseResult(name, reached=tuple(sorted(lines)))
