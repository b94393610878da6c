"""A process around a child that ends with it, and with all that it started.

A process whose parent has ended belongs to the first process of the machine, and one that has begun a session of its
own is in no group of the child's: after a double fork and setsid nothing tells that it was a child's. On Linux a
process can ask to be given such orphans, so here nothing gets lost; elsewhere what left its session may go on running.
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
    """Go on in a new process, which this one waits for, and ends with; return in the new one alone.

    Where `lifeline` closes at its other end, as the parent has ended, all is ended at once.
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
    """Become the parent of every process below this one whose own parent ends, where the system can do that."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(child: int, lifeline: int) -> int | None:
    """How the child ended; None where the parent has ended first."""
    while True:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    return ended[1]
        if select.select([lifeline], [], [], _POLL)[0]:
            return None


def _end_as(status: int | None) -> None:
    """End as the child did."""
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pause()
    os._exit(1 if status is None else os.WEXITSTATUS(status))
