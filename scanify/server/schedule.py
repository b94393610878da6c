"""Scheduling: the statement being edited is analysed at once, the project a moment after the last key."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.server.child import Cancelled, Child
from scanify.server.documents import Document, Notebook
from scanify.server.jobs import Answer, Quick, Rewrite, Rewritten, Whole

# The delay in seconds after the last change until the project is analysed, and until known findings are shown if the
# changed statement takes longer.
IDLE = 0.3
SOON = 0.06
# Seconds after which a first answer for an outdated text is cancelled.
TOO_LONG = 1.0


class Schedule:
    """Keeps the findings of open documents up to date, in two processes: one for first answers, one for whole projects.

    `tell` is called with each document whose findings should be shown, `warn` with errors that the user has to fix.
    """

    def __init__(
        self,
        documents: Collection[Document | Notebook],
        tell: Callable[[Document | Notebook], None],
        warn: Callable[[str], None],
    ) -> None:
        self._documents = documents
        self._tell = tell
        self._warn = warn
        self._quick = Child()
        self._whole = Child(niceness=5)
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[Path, asyncio.Task[None]] = {}
        self._running: Path | None = None
        self._pending: set[str] = set()  # URIs of documents waiting for a first answer
        self._since = 0.0

    def close(self) -> None:
        for task in (*self._tasks, *self._waiting.values()):
            task.cancel()
        self._quick.cancel()
        self._whole.cancel()

    def warm(self, document: Document) -> None:
        """Start the process for first answers, with all its imports, before the user types."""
        self._start(self._warmed(document))

    async def _warmed(self, document: Document) -> None:
        with contextlib.suppress(Cancelled, ScanifyError):
            await self._quick.ask(Quick(document.root, document.opened, (1, 1)))

    def changed(self, document: Document | Notebook) -> None:
        """Schedule a first answer soon after an edit, and a project analysis once the user pauses."""
        self.project(document.root, IDLE)
        if isinstance(document, Notebook):
            self._tell(document)
            return
        now = asyncio.get_running_loop().time()
        waits = document.uri in self._pending
        self._pending.add(document.uri)
        if not waits:
            self._start(self._first_answer(document))
        elif self._quick.busy and now - self._since > TOO_LONG:
            self._quick.cancel()

    def project(self, root: Path, after: float = 0.0) -> None:
        """Schedule an analysis of a project; it reads the documents when it starts."""
        earlier = self._waiting.pop(root, None)
        if earlier is not None:
            earlier.cancel()
        if self._running == root:
            self._whole.cancel()
        self._waiting[root] = asyncio.get_running_loop().create_task(self._analyse(root, after))

    async def rewrite(self, job: Rewrite) -> Rewritten:
        """Compute a rewrite, in the process for first answers."""
        try:
            done = await self._quick.ask(job)
        except Cancelled:
            return Rewritten(why_not="was not rewritten: the text changed meanwhile")
        assert isinstance(done, Rewritten)
        return done

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _first_answer(self, document: Document) -> None:
        """Analyse the changed statements; if that takes long, show the known findings first."""
        await asyncio.sleep(0)  # changes that arrive together are answered together
        while document.uri in self._pending:
            shown = asyncio.get_running_loop().call_later(SOON, self._tell, document)
            self._pending.discard(document.uri)
            self._since = asyncio.get_running_loop().time()
            text = document.text
            try:
                answer = await self._quick.ask(Quick(document.root, document.opened, document.dirty()))
            except (Cancelled, ScanifyError):
                answer = Answer({})
            shown.cancel()
            assert isinstance(answer, Answer)
            if answer.lines is not None and document.whole != text:
                document.answered_partly(text, answer.lines, answer.findings.get(document.path, ()))
            self._tell(document)

    async def _analyse(self, root: Path, after: float) -> None:
        await asyncio.sleep(after)
        opened = [each for each in self._documents if each.root == root]
        if not opened:
            return
        texts = {each.uri: each.text if isinstance(each, Document) else list(each.cells) for each in opened}
        while self._running is not None:
            await asyncio.sleep(0.02)
        self._running = root
        try:
            answer = await self._whole.ask(Whole(root, tuple(each.opened for each in opened)))
        except Cancelled:
            return
        except ScanifyError as error:
            self._warn(str(error))
            return
        finally:
            self._running = None
        assert isinstance(answer, Answer)
        for document in opened:
            found, text = answer.findings.get(document.path, ()), texts[document.uri]
            if isinstance(document, Notebook):
                assert isinstance(text, list)
                document.answered(text, found)
            elif isinstance(document, Document) and document.text == text:
                document.answered(document.text, found)
            self._tell(document)
