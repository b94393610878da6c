"""Which lines of the user's code a case runs: a case can only verify a loop that it reaches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import equinox as eqx

from scanify.verify.cases.build import Case, build
from scanify.verify.verdict import CaseResult

Files = Callable[[str], str | None]


def reached_case(name: str, before: Case, after: Case, *, abstract: bool, files: Files, **unused: Any) -> CaseResult:
    """Build the original model, trace its call, and answer the lines of the user's files that ran, as `reached`.

    A comparer of `scanify.verify.run.verify`, which it compares nothing for.
    """
    lines: set[tuple[str, int]] = set()
    with _recording(lines, files):
        built = build(before, abstract=abstract)
        eqx.filter_eval_shape(lambda model, args, kwargs: model(*args, **kwargs), *built.tree)
    return CaseResult(name, reached=tuple(sorted(lines)))


@contextmanager
def _recording(lines: set[tuple[str, int]], files: Files) -> Iterator[None]:
    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if files(frame.f_code.co_filename) is None:
            return None
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(earlier)
