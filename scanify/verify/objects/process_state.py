"""What a call changes for its whole process beside the settings of jax and of the environment.

A call that seeds the generator of `random` or of NumPy changes what is drawn after it, wherever that is; so do its
filters of warnings, and what NumPy does about errors.
"""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

# What it is, in words, with what reads it and what puts it back.
_STATES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "the state of `random`": (random.getstate, random.setstate),
    "the state of `numpy.random`": (lambda: _drawn(), lambda old: np.random.set_state(pickle.loads(old))),
    "the filters of `warnings`": (lambda: list(warnings.filters), lambda old: _refill(old)),
    "what NumPy does about errors": (np.geterr, lambda old: np.seterr(**old)),
}


class ProcessState:
    """The state as it is when this is made."""

    def __init__(self) -> None:
        self._old = {name: read() for name, (read, _) in _STATES.items()}

    def changed(self) -> dict[str, str]:
        """What is otherwise now, by its name in words, as a text that tells one value from another."""
        now = {name: repr(read()) for name, (read, _) in _STATES.items()}
        return {name: text for name, text in now.items() if text != repr(self._old[name])}

    def put_back(self) -> None:
        for name in self.changed():
            _STATES[name][1](self._old[name])


def _drawn() -> bytes:
    """Of a generator's six hundred words a text takes a millisecond, and a verification asks some thirty times."""
    return pickle.dumps(np.random.get_state(legacy=True))


def _refill(old: Any) -> None:
    warnings.resetwarnings()  # which tells those who remember what the filters said
    warnings.filters[:] = old  # type: ignore[index]
