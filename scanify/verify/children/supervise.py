"""A process around a child that ends with it, and with all processes that it started.

A process whose parent has ended belongs to the first process of the machine, and one that has started its own session
is in no group of the child: after a double fork and setsid nothing shows that it was a child's. On Linux a process can
adopt such orphans, so here none is lost; elsewhere processes that left the session may continue to run.
"""

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress

from scanify.verify.children import group

_PR_SET_CHILD_SUBREAPER = 36
_POLL = 0.05


def supervise(lifeline: int) -> None:
    """Continue in a new process, which this one waits for, and ends with; return only in the new one.

    If `lifeline` closes at its other end, since the parent has ended, everything is killed at once.
    """
    _keep_orphans()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        return
    try:
        status = _wait(child, lifeline)
    finally:
        with suppress(OSError):
            group.kill_below(os.getpid())
    _end_as(status)


def _keep_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends, if the system supports that."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(child: int, lifeline: int) -> int | None:
    """Return the status of the child; None if the parent has ended first."""
    while True:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    return ended[1]
        if select.select([lifeline], [], [], _POLL)[0]:
            return None


def _end_as(status: int | None) -> None:
    """End with the status of the child."""
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pause()
    os._exit(1 if status is None else os.WEXITSTATUS(status))
