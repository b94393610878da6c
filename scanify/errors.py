"""Errors that are the user's to mend, and the exit codes of the command line."""

from enum import IntEnum


class Exit(IntEnum):
    """What the process answers. Other tools rely on these numbers."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    VERIFICATION = 3
    INTERNAL = 4
    INTERRUPTED = 130


class ScanifyError(Exception):
    """A mistake in what scanify was given: shown as its message alone, without a traceback.

    The message says what was expected, what came, where, and what to do.
    """

    exit_code = Exit.USAGE


class CaseFailed(ScanifyError):
    """A case that could not be run, where what it runs was to say what may be changed."""

    exit_code = Exit.VERIFICATION


class CheckFailed(ScanifyError):
    """An edit that broke one of the checks every edit must pass: nothing was written. A defect of scanify."""

    exit_code = Exit.INTERNAL
