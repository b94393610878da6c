"""The client side of a worker process: await answers, and kill the process if they are no longer needed."""

import asyncio
import pickle
import subprocess
import sys
import threading

from scanify.errors import ScanifyError
from scanify.server.jobs import Answer, Job, Rewritten


class Cancelled(Exception):
    """Raised if the process was killed before it answered."""


class Child:
    """A worker process, started on the first job and restarted after it was killed. It runs one job at a time."""

    def __init__(self, niceness: int = 0) -> None:
        self._niceness = niceness
        self._process: subprocess.Popen[bytes] | None = None
        self._asking = asyncio.Lock()
        self._starting = threading.Lock()

    @property
    def busy(self) -> bool:
        return self._asking.locked()

    async def ask(self, job: Job) -> Answer | Rewritten:
        """Return the answer to a job. Raises ScanifyError with the error of the worker, Cancelled if it was killed."""
        async with self._asking:
            return await asyncio.get_running_loop().run_in_executor(None, self._answer, job)

    def cancel(self) -> None:
        """Kill the process, so that another job can start."""
        with self._starting:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                self._process = None

    def _answer(self, job: Job) -> Answer | Rewritten:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(job, process.stdin)
            process.stdin.flush()
            answer, message = pickle.load(process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            if self._process is process:
                self.cancel()  # the process died: the next job starts a new one
            process.stdin.close()
            process.stdout.close()
            raise Cancelled from None
        if message is not None:
            raise ScanifyError(message)
        assert isinstance(answer, Answer | Rewritten)
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "scanify.server.worker", str(self._niceness)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            return self._process
