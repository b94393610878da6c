"""Progress messages on a terminal; nothing is written to a log."""

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


_PATIENCE = 0.5  # seconds before a message is shown


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a message on a terminal if the block takes a while, and erase it at the end.

    It needs no library, since most of the work it covers finishes before one would be imported.
    """
    if not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        sys.stderr.write(what[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()

    timer = threading.Timer(_PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def progress(console: "Console") -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current step on a terminal; the line is erased at the end."""
    # FORCE_COLOR asks for colours even in a log, but not for a line that is redrawn.
    if not console.is_terminal or not console.file.isatty():
        yield lambda step: None
        return
    from rich.markup import escape

    with console.status("") as status:
        yield lambda step: status.update(escape(step))
