"""What is being done, on a terminal; nothing in a log."""

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


_PATIENCE = 0.5  # seconds that nobody asks what is being done


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say on a terminal what is being done where it takes a while, in a line that goes away at the end.

    It needs no library, as most of what is told about is done before one would be imported.
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
    """A function to tell the current step to, which a terminal shows in a line that goes away at the end."""
    # What FORCE_COLOR asks for are colours, in a log too, and no line that is drawn again and again.
    if not console.is_terminal or not console.file.isatty():
        yield lambda step: None
        return
    from rich.markup import escape

    with console.status("") as status:
        yield lambda step: status.update(escape(step))
