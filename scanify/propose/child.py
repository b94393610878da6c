"""The child process that proposes a case for one class. User code runs only here."""

import importlib
import traceback
from pathlib import Path

from scanify.on_call import on_call
from scanify.propose.request import Answer, Ask
from scanify.verify.cases.failure import describe
from scanify.verify.children.in_child import serve
from scanify.verify.versions.overlay import Overlay
from scanify.verify.versions.project import Project

search = on_call("scanify.propose.search", "Search")  # imports jax, so it is called only after jax was seen to import


def main(request_fd: int, response_fd: int, lifeline_fd: int) -> None:
    """Read an Ask, search, write the Answer and exit; `verify.process` passes the descriptors."""
    serve((request_fd, response_fd, lifeline_fd), Ask, lambda ask: ask.target, run_ask)


def run_ask(ask: Ask) -> Answer:
    """Search in this process. Every error becomes a reason; nothing is raised."""
    for library in ("jax", "equinox"):  # Before the user's directories are on the path, with their `profile.py`.
        try:
            importlib.import_module(library)
        except Exception as error:
            return Answer(
                reasons=(f"{library} is installed but does not import: {type(error).__name__}: {error}",), imports=False
            )
    overlay = Overlay(Project.around([ask.target], ask.target, ask.directory), {ask.target: _text(ask.target)}, {})
    try:
        with overlay, overlay.active(overlay.original):
            try:
                module = overlay.load(ask.target, overlay.original)
            except BaseException as error:
                ended = ", as it calls sys.exit" if isinstance(error, SystemExit) else ""
                said = describe(error, overlay.files)
                return Answer(reasons=(f"{ask.target.name} does not import{ended}:\n{said}",), imports=False)
            found: Answer = search(ask, module, overlay.files).answer()
            return found
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{Path(place.filename).name}:{place.lineno}"
        return Answer(reasons=(f"internal error of scanify, please report it: {type(error).__name__}: {error} ({at})",))


def _text(path: Path) -> bytes:
    return path.read_bytes()
