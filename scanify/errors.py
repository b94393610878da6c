"""Errors that the user can fix, and the exit codes of the command line."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of the process. Other tools rely on these numbers."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    VERIFICATION = 3
    INTERNAL = 4
    INTERRUPTED = 130


class ScanifyError(Exception):
    """A mistake in the input of scanify, shown as a message without a traceback.

    The message says what was expected, what was found, where, and what to do.
    """

    exit_code = Exit.USAGE


class CaseFailed(ScanifyError):
    """A case failed to run, although its result is needed to decide which changes are allowed."""

    exit_code = Exit.VERIFICATION


class CheckFailed(ScanifyError):
    """An edit failed one of the checks on all edits, and nothing was written. This is a defect of scanify."""

    exit_code = Exit.INTERNAL
