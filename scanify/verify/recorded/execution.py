"""Run a command's program in this process, with the files of one version."""

from __future__ import annotations

import importlib.util
import os
import random
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import numpy as np

from scanify.verify.cache.audit import hearing
from scanify.verify.cases.command import RECORDING, Command
from scanify.verify.cases.failure import describe
from scanify.verify.recorded.watch import Ended
from scanify.verify.versions.loaded import Version, VersionLoader
from scanify.verify.versions.overlay import Overlay

ENDED = "was ended"  # by the watcher
_PROCESSES = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")


@dataclass(frozen=True)
class Ending:
    """How a run ended, in words that follow its name, and whether it started other processes."""

    text: str
    processes: bool = False


def execute(command: Command, overlay: Overlay, version: Version) -> Ending:
    """Run the program until it ends, or until the watcher ends it. Any error is part of the ending."""
    processes: list[str] = []

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if event in _PROCESSES:
            processes.append(event)

    with overlay.active(version), _surroundings(command), hearing(hear):
        text = _ended(command, overlay, version)
    return Ending(text, bool(processes))


def _ended(command: Command, overlay: Overlay, version: Version) -> str:
    try:
        _start(command, version)
    except Ended:
        return ENDED
    except SystemExit as error:
        return f"ended with exit code {error.code or 0}"
    except BaseException as error:
        return f"raised:\n{describe(error, overlay.files)}"
    return "ended"


def _start(command: Command, version: Version) -> None:
    if command.kind == "file":
        loader = VersionLoader("__main__", command.target, version)
        _run_as_main(loader, command.target, None)
    elif command.kind == "script":
        (script, *_) = entry_points(group="console_scripts", name=command.target)
        sys.exit(script.load()())
    else:
        spec = importlib.util.find_spec(command.target)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{command.target}.__main__")
        if spec is not None and isinstance(spec.loader, VersionLoader):
            _run_as_main(spec.loader, str(spec.origin), spec)
        else:
            runpy.run_module(command.target, run_name="__main__", alter_sys=True)


def _run_as_main(loader: VersionLoader, path: str, spec: object) -> None:
    """Run a file of this version as `__main__`, like the interpreter."""
    module = ModuleType("__main__")
    vars(module).update(__file__=path, __loader__=loader, __spec__=spec, __package__=getattr(spec, "parent", None))
    sys.argv[0] = path
    sys.modules["__main__"] = module
    exec(loader.get_code(loader.name), vars(module))


@contextmanager
def _surroundings(command: Command) -> Iterator[None]:
    """Set arguments and path to the command's in this context; its directory is kept, for later reads by the model.

    The states of random numbers are restored when the run ends, so that the next run draws the same.
    """
    argv, main, recording = sys.argv, sys.modules["__main__"], os.environ.get(RECORDING)
    states = random.getstate(), np.random.get_state()
    first = Path(command.target).parent if command.kind == "file" else command.folder
    sys.argv = [command.target, *command.arguments]
    sys.path.insert(0, str(first))
    os.chdir(command.folder)
    os.environ[RECORDING] = command.text
    try:
        yield
    finally:
        os.environ.pop(RECORDING)
        if recording is not None:
            os.environ[RECORDING] = recording
        sys.argv, sys.modules["__main__"] = argv, main
        random.setstate(states[0])
        np.random.set_state(states[1])
