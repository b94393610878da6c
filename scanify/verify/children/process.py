"""The parent's side of running one case: start the child, watch its limits, keep its output, end it."""

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from scanify.verify.children import group
from scanify.verify.children.limits import Limits

_POLL = 0.05
# jax takes three quarters of a GPU's memory on start, which leaves nothing for a child next to a training run or
# another child (docs.jax.dev/en/latest/gpu_memory_allocation.html). A value set by the user has priority.
_ENVIRONMENT = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
_KEPT = 32 * 1024

# The prefix of a line that reports a step; no answer begins so.
_STEP = b'{"step": '

_BOOT = (
    "import sys; sys.path.append({root!r}); from scanify.verify.children.supervise import supervise; "
    "given = list(map(int, sys.argv[1:])); supervise(given[2]); from {module} import main; main(*given)"
)


@dataclass(frozen=True)
class Outcome:
    """How a child ended. `response` is its answer, None without one; `stopped` the limit that ended it, if any.

    `returncode` is negative for a signal, as in `subprocess`. `peak` is the most resident memory seen, in bytes.
    """

    response: bytes | None
    output: str
    seconds: float
    peak: int
    returncode: int | None = None
    stopped: str | None = None


Notify = Callable[[str], None]


def run_child(
    request: bytes, limits: Limits, module: str = "scanify.verify.children.child", notify: Notify = lambda step: None
) -> Outcome:
    """Run `main` of `module` in a new process on `request`, until it answers, dies, or exceeds a limit.

    `main(request_fd, response_fd, lifeline_fd)` reads the request from the first descriptor, writes its answer and a
    newline to the second, and ends itself when the third is closed at this end. Lines before the answer that are JSON
    objects of one member, `step`, go to `notify`. However this function is left, the child and all processes it started
    are gone.
    """
    with tempfile.TemporaryFile() as sent:
        sent.write(request)
        sent.flush()
        sent.seek(0)
        answers, answer = os.pipe()
        lifeline, kept_open = os.pipe()
        try:
            child = _start(module, (sent.fileno(), answer, lifeline))
            os.close(answer)
            answer = -1
            try:
                return _Watch(child, answers, limits, notify).until_end()
            finally:
                group.kill(child.pid)
                child.wait()
                assert child.stdout is not None
                child.stdout.close()
        finally:
            for descriptor in (answers, answer, lifeline, kept_open):
                if descriptor >= 0:
                    os.close(descriptor)


def _start(module: str, descriptors: tuple[int, int, int]) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[3])
    # -P keeps the current directory, which may contain a user's `types.py`, off the path; -B writes no bytecode.
    command = [sys.executable, "-P", "-B", "-u", "-c", _BOOT.format(root=root, module=module), *map(str, descriptors)]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=descriptors,
        start_new_session=True,
        env=_ENVIRONMENT | os.environ,
    )


@dataclass
class _Kept:
    """The first and the last bytes of an output of any length."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def add(self, data: bytes) -> None:
        room = _KEPT // 2 - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room > 0 else data
        excess = max(0, len(self.tail) - _KEPT // 2)
        self.dropped += excess
        del self.tail[:excess]

    def text(self) -> str:
        if not self.dropped:
            return (self.head + self.tail).decode(errors="replace")
        left_out = f"\n... {self.dropped} bytes of output left out ...\n"
        return self.head.decode(errors="replace") + left_out + self.tail.decode(errors="replace")


class _Watch:
    """One running child, alternately read and measured until it ends."""

    def __init__(self, child: subprocess.Popen[bytes], answers: int, limits: Limits, notify: Notify) -> None:
        assert child.stdout is not None
        self.child, self.limits, self.notify = child, limits, notify
        self.output, self.answers = child.stdout.fileno(), answers
        self.kept, self.answer = _Kept(), bytearray()
        self.started, self.peak = time.monotonic(), 0
        self.selector = selectors.DefaultSelector()
        for descriptor in (self.output, self.answers):
            os.set_blocking(descriptor, False)
            self.selector.register(descriptor, selectors.EVENT_READ)

    def until_end(self) -> Outcome:
        with self.selector:
            stopped, due = None, 0.0
            while stopped is None and not self._answered() and self.child.poll() is None:
                self._read(_POLL)
                if (now := time.monotonic()) >= due:
                    stopped = self._passed()
                    # listing all processes of a busy machine must take at most a twentieth of the time
                    due = time.monotonic() + max(_POLL, 20 * (time.monotonic() - now))
            for _ in range(64):  # the rest of the pipes; bounded, as a process the child left may write for ever
                if not self._read(0):
                    break
        answer = bytes(self.answer) if self._answered() and stopped is None else None
        seconds = time.monotonic() - self.started
        return Outcome(answer, self.kept.text(), seconds, self.peak, self.child.poll(), stopped)

    def _answered(self) -> bool:
        return self.answer.endswith(b"\n") and not self.answer.startswith(_STEP)

    def _passed(self) -> str | None:
        self.peak = max(self.peak, group.resident_bytes(self.child.pid))
        if self.peak > self.limits.memory:
            return "memory"
        return "time" if time.monotonic() - self.started > self.limits.seconds else None

    def _read(self, timeout: float) -> bool:
        """Return True if data came within `timeout` seconds."""
        if not self.selector.get_map():
            time.sleep(timeout)
            return False
        came = False
        for key, _ in self.selector.select(timeout):
            data = os.read(key.fd, 1 << 16)
            came = came or bool(data)
            if not data:
                self.selector.unregister(key.fd)
            elif key.fd == self.output:
                self.kept.add(data)
            else:
                self.answer += data
                self._tell_steps()
        return came

    def _tell_steps(self) -> None:
        """Pass on the steps among the received lines, and keep the rest."""
        while self.answer.startswith(_STEP) and (end := self.answer.find(b"\n")) >= 0:
            line = bytes(self.answer[:end])
            del self.answer[: end + 1]
            with suppress(ValueError, KeyError, TypeError):
                self.notify(str(json.loads(line)["step"]))
