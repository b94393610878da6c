"""What the child is doing now, for the terminal of its parent."""

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SINK: contextvars.ContextVar[Callable[[str], None]] = contextvars.ContextVar("sink", default=lambda step: None)


def tell(step: str) -> None:
    """Say what comes next, as `comparing under nested`. Without a listener nobody hears it."""
    _SINK.get()(step)


@contextmanager
def listening(sink: Callable[[str], None]) -> Iterator[None]:
    """Inside, `sink` is told every step."""
    token = _SINK.set(sink)
    try:
        yield
    finally:
        _SINK.reset(token)
