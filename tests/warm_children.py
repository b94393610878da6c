"""Child processes of tests, forked from one that has imported jax, where users' are started anew and import it each time.

A case must find a process in which no code of a user's has run. A fork of one that has imported jax and scanify and has
run nothing is such a process, and takes milliseconds where a new Python takes a second; `scanify.verify.children.alone`
forks in the same state. What tests ask about the start itself they ask of real ones: the fixture `fresh_children`.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO

from scanify.verify.children import process

_ROOT = Path(__file__).resolve().parents[1]
_FORKING = Path(__file__).resolve().with_name("forking.py")
_MODULE = "scanify.verify.children.child"
# Variables that Python or jax read when they start or are imported: for other values another process is needed.
_READ_AT_START = ("JAX_", "XLA_", "PYTHON", "COVERAGE_")
_MOST = 3  # such processes at a time, as each keeps jax in memory


class WarmChildren:
    """Starts children as `process._start` does, by a forking process for each environment that jax may have read."""

    def __init__(self) -> None:
        self.fresh = sys.platform != "linux"
        self._start = process._start
        self._forking: dict[tuple[tuple[str, str], ...], _Forking] = {}

    def start(self, module: str, descriptors: tuple[int, int, int]) -> "subprocess.Popen[bytes] | Forked":
        if self.fresh or module != _MODULE:
            return self._start(module, descriptors)
        key = tuple(sorted(item for item in os.environ.items() if _read_at_start(item[0])))
        forking = self._forking.pop(key, None) or _Forking()
        while len(self._forking) >= _MOST:
            self._forking.pop(next(iter(self._forking))).end()
        self._forking[key] = forking  # the one used last is the last
        return forking.fork(descriptors)

    def end(self) -> None:
        while self._forking:
            self._forking.popitem()[1].end()


def _read_at_start(name: str) -> bool:
    return name.startswith(_READ_AT_START) and name != "PYTHONPATH"


class _Forking:
    """The parent's end of a process that forks (`tests/forking.py`)."""

    def __init__(self) -> None:
        self._asked, there = socket.socketpair()
        # Run as a text, so that no module of this repository is there for a user's to be taken for.
        code = "import sys; exec(compile(open(sys.argv[1]).read(), sys.argv[1], 'exec'))"
        command = [sys.executable, "-P", "-B", "-u", "-c", code, str(_FORKING), str(there.fileno()), str(_ROOT)]
        without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            command,
            env=without,
            pass_fds=(there.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        there.close()

    def fork(self, descriptors: tuple[int, int, int]) -> "Forked":
        output, written = os.pipe()
        status, ended = os.pipe()
        order = json.dumps({"environment": dict(os.environ), "directory": str(Path.cwd()), "module": _MODULE}).encode()
        try:
            socket.send_fds(self._asked, [len(order).to_bytes(8, "big")], [*descriptors, written, ended])
            self._asked.sendall(order)
        finally:
            os.close(written)
            os.close(ended)
        return Forked(os.fdopen(output, "rb", buffering=0), os.fdopen(status, "rb", buffering=0))

    def end(self) -> None:
        self._asked.close()
        self._process.wait()


class Forked:
    """What `process` uses of `subprocess.Popen`, for a process whose parent is another one."""

    def __init__(self, stdout: IO[bytes], status: IO[bytes]) -> None:
        self.stdout, self._status = stdout, status
        self._code: int | None = None
        number = status.read(8)
        assert number, "the process that forks for tests has ended; what it said is in its standard error"
        self.pid = int.from_bytes(number, "big")

    def poll(self) -> int | None:
        return self._ended(wait=False)

    def wait(self) -> int:
        code = self._ended(wait=True)
        assert code is not None
        return code

    def _ended(self, *, wait: bool) -> int | None:
        if self._code is None:
            os.set_blocking(self._status.fileno(), wait)
            told = self._status.read(8)
            if told is not None:
                assert told, "the process that forks for tests has ended"
                self._code = int.from_bytes(told, "big", signed=True)
                self._status.close()
        return self._code
