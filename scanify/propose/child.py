"""The child process that proposes a case for one class. User code runs here and nowhere else."""

import importlib
import json
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path

from scanify.propose.request import Answer, Ask
from scanify.verify.codec import from_json, to_json
from scanify.verify.failure import describe
from scanify.verify.overlay import Overlay
from scanify.verify.project import Project


def main(request_fd: int, response_fd: int, lifeline_fd: int) -> None:
    """Read an Ask, search, write the Answer and a newline, and end; `verify.process` gives the descriptors."""
    own = os.getpid()
    for descriptor in (request_fd, response_fd, lifeline_fd):
        os.set_inheritable(descriptor, False)
    threading.Thread(target=_end_with_parent, args=(lifeline_fd,), daemon=True).start()
    with suppress(OSError):  # If memory runs out before the parent sees it, the kernel should choose this process.
        Path("/proc/self/oom_score_adj").write_text("1000")
    with open(request_fd, encoding="utf-8") as stream:
        ask = from_json(Ask, json.load(stream))
    sys.dont_write_bytecode = True
    sys.argv = [str(ask.target)]
    answer = run_ask(ask)
    if os.getpid() != own:  # The user's code forked, and this is the copy.
        os._exit(0)
    with open(response_fd, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(to_json(answer)) + "\n")
    # Neither the user's exit handlers nor their threads may keep the parent waiting.
    os._exit(0)


def _end_with_parent(lifeline: int) -> None:
    with suppress(OSError):
        os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def run_ask(ask: Ask) -> Answer:
    """Search in this process. Whatever goes wrong is a reason; nothing is raised."""
    for library in ("jax", "equinox"):  # Before the user's directories are on the path, with their `profile.py`.
        try:
            importlib.import_module(library)
        except Exception as error:
            return Answer(reasons=(f"{library} is installed but does not import: {type(error).__name__}: {error}",))
    from scanify.propose.search import Search

    overlay = Overlay(Project.around([ask.target], ask.target, ask.directory), {ask.target: _text(ask.target)}, {})
    try:
        with overlay, overlay.active(overlay.original):
            try:
                module = overlay.load(ask.target, overlay.original)
            except BaseException as error:
                ended = ", as it calls sys.exit" if isinstance(error, SystemExit) else ""
                said = describe(error, overlay.files)
                return Answer(reasons=(f"{ask.target.name} does not import{ended}:\n{said}",))
            return Search(ask, module, overlay.files).answer()
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{Path(place.filename).name}:{place.lineno}"
        return Answer(reasons=(f"internal error of scanify, please report it: {type(error).__name__}: {error} ({at})",))


def _text(path: Path) -> bytes:
    return path.read_bytes()
