"""The common interface of all formats: a file open for reading, whose bytes are read in pieces."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from scanify.checkpoints.saved_array import SavedArray, Stretch
from scanify.errors import ScanifyError

CHUNK = 8 << 20  # the number of bytes held in memory at a time


class Opened(ABC):
    """A file with arrays. `about` holds its other contents, in the form that the format's writer expects."""

    arrays: Sequence[SavedArray]
    about: Any
    in_turn = False  # True if alternating reads from two arrays restart each of them

    @abstractmethod
    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        """Yield the bytes of a stretch, at most `CHUNK` at a time."""

    @abstractmethod
    def numpy_dtype(self, dtype: Any) -> "np.dtype[Any]":
        """Return the NumPy dtype for a dtype of the file, or bytes of the same width if NumPy has none."""

    @abstractmethod
    def close(self) -> None: ...

    def bytes_in(self, array: SavedArray) -> Iterator[bytes]:
        """Yield the bytes of an array, in order."""
        sources = [stretch.source for stretch in array.stretches]
        changes = sum(one != other for one, other in pairwise(sources))
        if not self.in_turn or changes < len(set(sources)):
            for stretch in array.stretches:
                yield from self.bytes_of(stretch)
            return
        found = np.empty(array.nbytes, np.uint8)
        starts = accumulate((stretch.size for stretch in array.stretches), initial=0)
        for stretch, at in sorted(zip(array.stretches, starts, strict=False), key=lambda pair: pair[0].source):
            for data in self.bytes_of(stretch):
                found[at : at + len(data)] = np.frombuffer(data, np.uint8)
                at += len(data)
        yield found.tobytes()

    def read(self, array: SavedArray, expected: Any = None) -> "np.ndarray[Any, Any]":
        """Read an array as a NumPy array. Raw bytes as wide as the `expected` dtype are viewed as that dtype."""
        dtype = self.numpy_dtype(array.dtype)
        if expected is not None and dtype.kind == "V" and dtype.itemsize == np.dtype(expected).itemsize:
            dtype = np.dtype(expected)
        flat = np.empty(array.nbytes, np.uint8)
        at = 0
        for data in self.bytes_in(array):
            flat[at : at + len(data)] = np.frombuffer(data, np.uint8)
            at += len(data)
        return flat.view(dtype).reshape(array.shape)

    def demand_equal(self, pairs: Sequence[tuple[SavedArray, SavedArray]]) -> None:
        """Raise ScanifyError if two arrays that the tree keeps only once are not equal."""
        for one, other in pairs:
            if one.stretches != other.stretches and b"".join(self.bytes_in(one)) != b"".join(self.bytes_in(other)):
                raise ScanifyError(
                    f"{one.name} and {other.name} are kept once in the given tree, so they must be equal, and they "
                    "differ"
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def whole(name: str, dtype: Any, shape: tuple[int, ...], nbytes: int, source: int) -> SavedArray:
    """An array that consists of all bytes of an array in a file."""
    return SavedArray(name, dtype, shape, (Stretch(source, 0, nbytes),) if nbytes else ())


def chunks(file: Any, start: int, size: int, path: Path) -> Iterator[bytes]:
    """Yield `size` bytes of an open file from `start`. Raises EOFError if the file ends before."""
    file.seek(start)
    while size:
        data = file.read(min(size, CHUNK))
        if not data:
            raise EOFError(f"{path}: ends {size} bytes before it should")
        size -= len(data)
        yield data
