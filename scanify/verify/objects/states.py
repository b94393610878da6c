"""State of Python's and NumPy's own objects besides attributes: a generator's state, the text of a `StringIO`.

Iterators have a position, which can be read but not restored.
"""

from __future__ import annotations

import array
import inspect
import io
import itertools
import operator
import pickle
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from scanify.errors import ScanifyError


def _read_text(value: Any) -> tuple[Any, int]:
    return value.getvalue(), value.tell()


def _write_text(value: Any, old: tuple[Any, int]) -> None:
    value.seek(0)
    value.truncate()
    value.write(old[0])
    value.seek(old[1])


def _seek(value: Any, old: int | None) -> None:
    if old is not None:
        value.seek(old)


_FILES = (io.TextIOWrapper, io.BufferedReader, io.BufferedRandom, io.FileIO)  # their position is a state
# By the classes of the objects: functions that read the state, as a picklable value, and restore it.
_STATES: tuple[tuple[tuple[type, ...], Callable[[Any], Any], Callable[[Any, Any], Any]], ...] = (
    ((random.Random,), lambda value: value.getstate(), lambda value, old: value.setstate(old)),
    (
        (np.random.Generator,),
        lambda value: value.bit_generator.state,
        lambda value, old: _set(value.bit_generator, old),
    ),
    ((np.random.BitGenerator,), lambda value: value.state, lambda value, old: _set(value, old)),
    ((np.random.RandomState,), lambda value: value.get_state(), lambda value, old: value.set_state(old)),
    ((io.StringIO, io.BytesIO), _read_text, _write_text),
    (_FILES, lambda value: None if value.closed or not value.seekable() else value.tell(), _seek),
    ((array.array,), lambda value: value.tobytes(), lambda value, old: _refill(value, old)),
)
# Objects that consist of this state and attributes.
STATEFUL: tuple[type, ...] = (
    *(random.Random, np.random.Generator, np.random.BitGenerator, np.random.RandomState),
    *(io.StringIO, io.BytesIO, itertools.count),
)
# Iterators that know their remaining length.
_EMPTY: tuple[Any, ...] = ([], (), "", b"", bytearray(), range(0), set(), {}, {}.values(), {}.items())
_COUNTED = (*(type(iter(each)) for each in _EMPTY), type(reversed([])), type(reversed({})))


def state(value: Any) -> bytes | None:
    """Return the state of an object besides its attributes; None if it has none that is known here."""
    come_to = _place(value)
    if come_to is not None:
        return come_to.encode()
    for kinds, read, _ in _STATES:
        if isinstance(value, kinds):
            return pickle.dumps(read(value))
    return None


def put_state(value: Any, old: bytes) -> None:
    """Restore the state of an object.

    Raises:
        ScanifyError: it is an iterator, which cannot be restored.
    """
    if _place(value) is not None:
        raise ScanifyError(
            f"the call takes elements from an iterator, a {type(value).__name__}, that it is given or that the model "
            "holds. The next call would find others, so the versions cannot be compared: give it a list"
        )
    for kinds, _, write in _STATES:
        if isinstance(value, kinds):
            write(value, pickle.loads(old))
            return


def _place(value: Any) -> str | None:
    """Return the position of an iterator or a generator, as a text; None for everything else."""
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        own = [] if frame is None else [frame.f_lasti, *((name, id(held)) for name, held in frame.f_locals.items())]
        return f"{inspect.getgeneratorstate(value)} {own}"
    if isinstance(value, itertools.count):
        return repr(value)
    return str(operator.length_hint(value)) if isinstance(value, _COUNTED) else None


def behind(value: Any) -> tuple[Any, ...]:
    """Return the sources of an iterator."""
    return tuple(value.__reduce__()[1]) if isinstance(value, zip | map | filter | enumerate) else ()


def _set(generator: Any, old: Any) -> None:
    generator.state = old


def _refill(value: Any, old: bytes) -> None:
    del value[:]
    value.frombytes(old)
