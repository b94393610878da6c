"""A process that runs exported programs at values, and is killed if one of them does not end.

It imports nothing of the user's, and ends when its parent closes its end of the pipe.
"""

import atexit
import contextlib
import os
import pickle
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.export

_START = 300.0  # seconds to import jax and to compile a program
_BOOT = "import sys; sys.path.append({root!r}); from scanify.verify.children.points import main; main()"


class Points:
    """The parent's side: one process at a time, started to run a program."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._known: dict[bytes, int] = {}
        atexit.register(self.end)

    def run(self, program: bytes, values: Sequence[Any], seconds: float) -> list[Any]:
        """Return the results of an exported program for NumPy arrays.

        Raises TimeoutError if that takes longer than `seconds`, and RuntimeError with the error of the program.
        """
        if self._child is None or self._child.poll() is not None:
            self._start()
        if program not in self._known:
            self._known[program] = len(self._known)
            self._asked(("load", self._known[program], program), _START)
        found: list[Any] = self._asked(("run", self._known[program], list(values)), seconds)
        return found

    def end(self) -> None:
        """End the process in any state."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                with contextlib.suppress(OSError):
                    assert pipe is not None
                    pipe.close()
        self._child, self._known = None, {}

    def _start(self) -> None:
        self.end()
        command = [sys.executable, "-P", "-B", "-c", _BOOT.format(root=str(Path(__file__).resolve().parents[3]))]
        here = {"JAX_PLATFORMS": "cpu"} if jax.default_backend() == "cpu" else {}
        environment = {**os.environ, **here, "JAX_ENABLE_X64": "1"}
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )

    def _asked(self, request: tuple[Any, ...], seconds: float) -> Any:
        assert self._child is not None
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            pickle.dump(request, self._child.stdin)
            self._child.stdin.flush()
            until, data = time.monotonic() + seconds, bytearray()
            while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "big"):
                if not select.select([self._child.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                    raise TimeoutError(f"did not end within {seconds:g} s")
                more = os.read(self._child.stdout.fileno(), 1 << 20)
                if not more:
                    raise RuntimeError("the process that runs programs at values ended without an answer")
                data += more
        except BaseException:
            self.end()
            raise
        said, found = pickle.loads(bytes(data[8:]))
        if said == "raised":
            raise RuntimeError(found)
        return found


def main() -> None:
    """Answer requests from standard input; the thread that reads them ends the process when the parent is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    requests: queue.Queue[tuple[Any, ...]] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    programs: dict[int, Any] = {}
    while True:
        kind, number, given = requests.get()
        try:
            if kind == "load":
                exported = pickle.loads(given)
                avals = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in exported.in_avals]
                programs[number], found = jax.jit(exported.call).lower(*avals).compile(), None
            else:
                found = [jax.device_get(each) for each in programs[number](*map(jax.numpy.asarray, given))]
            answer: tuple[str, Any] = "done", found
        except Exception as error:
            answer = "raised", f"{type(error).__name__}: {error}"
        data = pickle.dumps(answer)
        answers.write(len(data).to_bytes(8, "big") + data)
        answers.flush()


def _read(requests: "queue.Queue[tuple[Any, ...]]") -> None:
    try:
        while True:
            requests.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)
