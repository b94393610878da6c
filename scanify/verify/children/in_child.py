"""Common code of child processes: read one request, write one answer, and end despite anything that would delay it."""

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from scanify.verify.children.codec import from_json, to_json

Asked = TypeVar("Asked")

# Seconds to wait for being ended by another process.
_GIVEN = 2.0


def serve(
    descriptors: tuple[int, int, int],
    kind: type[Asked],
    target: Callable[[Asked], Path],
    answer: Callable[[Asked], object],
) -> None:
    """Read a request of a kind, write the result of `answer` and a newline, and end the process.

    `descriptors` are the request's, the response's, and the one of the pipe that closes when the parent ends (from
    `scanify.verify.children.process`); `target` returns the script that the user's code sees in `sys.argv`.
    """
    request_fd, response_fd, lifeline_fd = descriptors
    own = os.getpid()
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    threading.Thread(target=end_with_parent, args=(lifeline_fd,), daemon=True).start()
    with suppress(OSError):  # if memory runs out before the parent notices, the kernel should choose this process
        Path("/proc/self/oom_score_adj").write_text("1000")
    with os.fdopen(request_fd, encoding="utf-8") as stream:
        request = from_json(kind, json.load(stream))
    gc.set_threshold(200_000, 50, 50)  # programs live until it ends: see `scanify.cli`
    sys.dont_write_bytecode = True
    sys.argv = [str(target(request))]
    response = answer(request)
    if os.getpid() != own:  # the user's code forked, and this is the copy
        os._exit(0)
    with os.fdopen(response_fd, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(to_json(response)) + "\n")
    # Neither the user's exit handlers nor their threads may keep the parent waiting.
    os._exit(0)


def end_with_parent(lifeline: int) -> None:
    """Wait for the parent's end of a pipe to close, then kill this process and all it started.

    The supervisor of this process notices that, too, and ends more; it gets time for that.
    """
    with suppress(OSError):
        os.read(lifeline, 1)
    time.sleep(_GIVEN)
    os.killpg(0, signal.SIGKILL)
