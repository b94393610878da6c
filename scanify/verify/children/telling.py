"""Report the current step of the child to the terminal of its parent."""

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SINK: contextvars.ContextVar[Callable[[str], None]] = contextvars.ContextVar("sink", default=lambda step: None)


_WORDS = {
    "import jax": "importing jax",
    "load original": "loading the original",
    "load rewritten": "loading the rewritten version",
    "build": "building both models",
    "match": "matching their parameters",
    "parameters": "comparing their parameters",
    "trace": "tracing",
    "prove": "proving",
    "test": "testing numerically",
    "execute": "executing what is proved",
    "measure": "compiling",
}


def tell(step: str, under: str = "") -> None:
    """Report the next step, by its name and a suffix: `proving under nested`.

    Without a listener it is dropped.
    """
    _SINK.get()(_WORDS.get(step, step) + under)


@contextmanager
def listening(sink: Callable[[str], None]) -> Iterator[None]:
    """Pass every step to `sink` in this context."""
    token = _SINK.set(sink)
    try:
        yield
    finally:
        _SINK.reset(token)
