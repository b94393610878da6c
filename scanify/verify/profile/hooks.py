"""Hooks of the interpreter on the user's code: callbacks of `sys.monitoring`, or a trace function without it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

_MONITORS = hasattr(sys, "monitoring")


def free_tool(numbers: Sequence[int]) -> int | None:
    """Return the first free tool id of `sys.monitoring` among these; None without one, or before Python 3.12."""
    return next((tool for tool in numbers if sys.monitoring.get_tool(tool) is None), None) if _MONITORS else None


@contextmanager
def monitored(tool: int, callbacks: Mapping[int, Callable[..., Any]], events: int) -> Iterator[None]:
    """Register the tool's callbacks and enable these events for all code, in this context."""
    monitoring = sys.monitoring
    monitoring.use_tool_id(tool, "scanify")
    for event, callback in callbacks.items():
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(tool, events)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        for event in callbacks:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
        monitoring.restart_events()


@contextmanager
def traced(trace: Any) -> Iterator[None]:
    """Set the trace function in this context."""
    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(earlier)


@contextmanager
def lines_run(is_wanted: Callable[[str], bool], lines: set[tuple[str, int]]) -> Iterator[set[tuple[str, int]]]:
    """Collect the lines that this thread runs in the wanted files, each with its file."""
    known: dict[str, bool] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        if name not in known:
            known[name] = is_wanted(name)
        if known[name] and event == "line":
            lines.add((name, frame.f_lineno))
        return trace if known[name] else None

    with traced(trace):
        yield lines
