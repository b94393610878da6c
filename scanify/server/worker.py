"""`python -m scanify.server.worker`: answer jobs one by one, from standard input to standard output."""

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

# The number of new objects from which garbage is collected between jobs.
_MANY = 50_000


def serve(given: BinaryIO, told: BinaryIO) -> None:
    """Answer each job with `(answer, None)` or `(None, message)`, until the input ends."""
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
            # Half-written code can cause any error: report it to the editor and continue.
            answer = (None, f"{type(error).__name__}: {error}; please report this with the file")
        pickle.dump(answer, told)
        told.flush()
        if gc.get_count()[0] > _MANY:
            gc.collect(0)  # now, while no request is waiting


def main() -> None:
    # Objects live until an answer is found; collecting garbage earlier took a third of the time.
    gc.set_threshold(200_000, 50, 50)
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    if len(sys.argv) > 1:
        with contextlib.suppress(OSError, AttributeError):
            os.nice(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "wb") as told, sys.stdin.buffer as given:
        os.dup2(2, 1)  # keeps printed output out of the answers
        serve(given, told)


if __name__ == "__main__":
    main()
