"""Handle the environment of the process: closed or limited streams, missing folders, full disks."""

import os
import sys


def ready_streams() -> None:
    """Make standard output and errors accept any text: escape unsupported characters, and replace closed streams."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  (until the process ends)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        # File names need not be UTF-8, and neither need the output: an escaped report is better than none.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def in_the_way(error: Exception) -> str | None:
    """Describe an error caused by the system or the input; None for a defect of scanify."""
    if isinstance(error, RecursionError):
        return (
            "expected code that is nested a few thousand levels deep at most, got more (a sum of thousands "
            "of terms?); no file was changed. Leave its file out with `exclude`, or take the expression apart"
        )
    if not isinstance(error, OSError) or error.strerror is None:
        return None
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return "the current folder is gone, or cannot be read; change to one that is there and try again"
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return f"{where}{error.strerror}; make that possible, or name other files, and try again"
