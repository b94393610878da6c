"""A worker process, from the side that asks: answers are awaited, and the process is ended where they come too late."""

import asyncio
import pickle
import subprocess
import sys
import threading

from scanify.errors import ScanifyError
from scanify.server.jobs import Answer, Job, Rewritten


class Cancelled(Exception):
    """The process was ended before it answered."""


class Child:
    """One worker process, which is started when it is asked and again after it was ended. One job at a time."""

    def __init__(self, niceness: int = 0) -> None:
        self._niceness = niceness
        self._process: subprocess.Popen[bytes] | None = None
        self._asking = asyncio.Lock()
        self._starting = threading.Lock()

    @property
    def busy(self) -> bool:
        return self._asking.locked()

    async def ask(self, job: Job) -> Answer | Rewritten:
        """The answer to a job. Raises ScanifyError where it says why there is none, Cancelled where it was ended."""
        async with self._asking:
            return await asyncio.get_running_loop().run_in_executor(None, self._answer, job)

    def cancel(self) -> None:
        """End the process, so that it is free for another job."""
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
                self.cancel()  # it ended by itself: the next job starts another one
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
