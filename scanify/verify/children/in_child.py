"""What a child process does around its work: it reads one request, writes one answer, and ends whatever may keep it."""

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

# Seconds to be ended by another process first.
_GIVEN = 2.0


def serve(
    descriptors: tuple[int, int, int],
    kind: type[Asked],
    target: Callable[[Asked], Path],
    answer: Callable[[Asked], object],
) -> None:
    """Read a request of a kind, write what `answer` gives for it and a newline, and end the process.

    `descriptors` are those of the request, of the response, and of the pipe that closes when the parent ends
    (`scanify.verify.children.process` gives them); `target` says what the user's code sees as the script that runs.
    """
    request_fd, response_fd, lifeline_fd = descriptors
    own = os.getpid()
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    threading.Thread(target=end_with_parent, args=(lifeline_fd,), daemon=True).start()
    with suppress(OSError):  # If memory runs out before the parent sees it, the kernel should choose this process.
        Path("/proc/self/oom_score_adj").write_text("1000")
    with os.fdopen(request_fd, encoding="utf-8") as stream:
        request = from_json(kind, json.load(stream))
    gc.set_threshold(200_000, 50, 50)  # programs live until it ends: see `scanify.cli`
    sys.dont_write_bytecode = True
    sys.argv = [str(target(request))]
    response = answer(request)
    if os.getpid() != own:  # The user's code forked, and this is the copy.
        os._exit(0)
    with os.fdopen(response_fd, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(to_json(response)) + "\n")
    # Neither the user's exit handlers nor their threads may keep the parent waiting.
    os._exit(0)


def end_with_parent(lifeline: int) -> None:
    """Wait for the parent's end of a pipe to close, then end this process and all it started.

    Whoever supervises this process sees that, too, and ends more; it is given time for that.
    """
    with suppress(OSError):
        os.read(lifeline, 1)
    time.sleep(_GIVEN)
    os.killpg(0, signal.SIGKILL)
