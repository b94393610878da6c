"""`python -m scanify.server.worker`: a process that answers jobs, one after the other, from its input to its output."""

import contextlib
import gc
import os
import pickle
import sys
from typing import BinaryIO

from scanify.cli import DEEPEST
from scanify.errors import ScanifyError
from scanify.server.analyses import Memory
from scanify.server.jobs import Answer, Rewritten

# Objects that may be left over by the jobs so far before they are looked through.
_MANY = 50_000


def serve(given: BinaryIO, told: BinaryIO) -> None:
    """Answer each job with `(answer, None)` or `(None, message)`, until there are no more."""
    memory = Memory()
    while True:
        try:
            job = pickle.load(given)
        except EOFError:
            return
        answer: tuple[Answer | Rewritten | None, str | None]
        try:
            answer = (memory.run(job), None)
        except ScanifyError as error:
            answer = (None, str(error))
        except Exception as error:
            # What is half-written may be anything: an editor is told what went wrong and goes on.
            answer = (None, f"{type(error).__name__}: {error}; please report this with the file")
        pickle.dump(answer, told)
        told.flush()
        if gc.get_count()[0] > _MANY:
            gc.collect(0)  # now, while nobody waits for an answer


def main() -> None:
    # Values live until an answer is found: looking for what could go is a third of the time.
    gc.set_threshold(200_000, 50, 50)
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    if len(sys.argv) > 1:
        with contextlib.suppress(OSError, AttributeError):
            os.nice(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "wb") as told, sys.stdin.buffer as given:
        os.dup2(2, 1)  # nothing that is printed on the way gets between the answers
        serve(given, told)


if __name__ == "__main__":
    main()
