"""What is being done, on a terminal; nothing in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str], None]]:
    """A function to tell the current step to, which a terminal shows in a line that goes away at the end."""
    if not console.is_terminal:
        yield lambda step: None
        return
    with console.status("") as status:
        yield lambda step: status.update(escape(step))
