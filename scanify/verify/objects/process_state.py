"""State of the whole process that a call may change: settings of jax, NumPy and Python, generators, the environment.

A call that seeds the generator of `random` or of NumPy changes all later draws, anywhere; so do its filters of
warnings, NumPy's handling of errors, and the value of a context variable.
"""

from __future__ import annotations

import contextvars
import os
import pickle
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

# The description of each state, with functions to read and to restore it.
_STATES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "the state of `random`": (random.getstate, random.setstate),
    "the state of `numpy.random`": (lambda: _drawn(), lambda old: np.random.set_state(pickle.loads(old))),
    "the filters of `warnings`": (lambda: list(warnings.filters), lambda old: _refill(old)),
    "what NumPy does about errors": (np.geterr, lambda old: np.seterr(**old)),
    "the settings of jax": (lambda: dict(jax.config.values), lambda old: _set_again(old)),
    "the variables of the environment": (lambda: _variables(), lambda old: _reset(old)),
    "the working directory": (os.getcwd, os.chdir),
    "the limit of recursion": (sys.getrecursionlimit, sys.setrecursionlimit),
}


# Context variables of libraries, which create them on first use.
_LIBRARIES = frozenset({"decimal_context", "numpy.ufunc.extobj"})


class ProcessState:
    """The state at the time of creation."""

    def __init__(self) -> None:
        self._old = {name: read() for name, (read, _) in _STATES.items()}
        self._context = dict(contextvars.copy_context().items())

    def changed(self) -> dict[str, Any]:
        """Return changes by their description: a text that distinguishes values, or the value."""
        found: dict[str, Any] = {name: repr(_STATES[name][0]()) for name in self._others()}
        for variable, value in contextvars.copy_context().items():
            if variable.name not in _LIBRARIES and self._context.get(variable, self) is not value:
                found[f"the context variable {variable.name}"] = value
        return found

    def put_back(self) -> None:
        """Restore all except context variables, for which the call has a context of its own."""
        for name in self._others():
            _STATES[name][1](self._old[name])

    def _others(self) -> list[str]:
        return [name for name, (read, _) in _STATES.items() if repr(read()) != repr(self._old[name])]


def _drawn() -> bytes:
    """Read NumPy's state as bytes, as a text takes a millisecond and is needed thirty times a verification."""
    return pickle.dumps(np.random.get_state(legacy=True))


def _set_again(old: dict[str, Any]) -> None:
    for name, value in old.items():
        if jax.config.values[name] is not value:
            jax.config.update(name, value)


def _variables() -> dict[bytes, bytes]:
    """Read without `os.environ`, which records its readers: a cached result would depend on all variables."""
    held: Any = os.environ
    return dict(dict.items(held._data))


def _reset(old: dict[bytes, bytes]) -> None:
    now = _variables()
    for name in now.keys() - old.keys():
        del os.environb[name]
    for name in old.keys() - {name for name, value in now.items() if old.get(name) == value}:
        os.environb[name] = old[name]


def _refill(old: Any) -> None:
    warnings.resetwarnings()  # this invalidates caches of the filters
    warnings.filters[:] = old  # type: ignore[index]
