"""Errors of the user's code in readable form: only their own lines, then the exception."""

import linecache
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType

_FRAMES = 8
_LINES = 20


def describe(error: BaseException, files: Callable[[str], str | None]) -> str:
    """Return the traceback of `error` trimmed to the files that `files` knows, innermost last, and its type and
    message.

    `files` returns the displayed name for a `co_filename`, None for a file that is not the user's.
    """
    lines = [line for frame, number in _frames(error.__traceback__) for line in _frame_lines(frame, number, files)]
    if len(lines) > 2 * _FRAMES:
        lines = [*lines[:2], f"    ... {len(lines) // 2 - _FRAMES} calls left out ...", *lines[2 - 2 * _FRAMES :]]
    return "\n".join([*lines, *_message(error, files)])


def user_frames(error: BaseException, files: Callable[[str], str | None]) -> list[FrameType]:
    """Return the frames of `error` that run the user's code, innermost last."""
    return [frame for frame, _ in _frames(error.__traceback__) if files(frame.f_code.co_filename) is not None]


def _frames(tb: TracebackType | None) -> list[tuple[FrameType, int]]:
    return list(traceback.walk_tb(tb))


def _frame_lines(frame: FrameType, number: int, files: Callable[[str], str | None]) -> list[str]:
    shown = files(frame.f_code.co_filename)
    if shown is None:
        return []
    where = frame.f_code.co_name
    place = f"  {shown}:{number}" + ("" if where == "<module>" else f", in {where}")
    return [place, f"    {linecache.getline(frame.f_code.co_filename, number).strip()}"]


def _message(error: BaseException, files: Callable[[str], str | None]) -> list[str]:
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        shown = files(error.filename) or error.filename
        line = (error.text or "").strip()
        return [f"  {shown}:{error.lineno}", f"    {line}", f"{type(error).__name__}: {error.msg}"]
    try:
        text = str(error)
    except Exception:  # the user's own `__str__` may raise, too
        text = "(its message cannot be shown)"
    lines = f"{type(error).__name__}: {text}".rstrip(": ").splitlines()
    return lines if len(lines) <= _LINES else [*lines[:_LINES], f"... {len(lines) - _LINES} lines left out ..."]
