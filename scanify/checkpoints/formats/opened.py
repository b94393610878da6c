"""What all formats have in common: a file that is open for reading, whose bytes are taken piece by piece."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from scanify.checkpoints.saved_array import SavedArray, Stretch
from scanify.errors import ScanifyError

CHUNK = 8 << 20  # bytes that are in memory at a time


class Opened(ABC):
    """A file with arrays. `about` is what it says beside them, in the form that its own writer takes."""

    arrays: Sequence[SavedArray]
    about: Any
    in_turn = False  # True if reading from two arrays by turns reads each of them from its start again

    @abstractmethod
    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        """The bytes of a stretch, at most `CHUNK` of them at a time."""

    @abstractmethod
    def numpy_dtype(self, dtype: Any) -> "np.dtype[Any]":
        """What NumPy calls a dtype of the file; bytes where it is none of NumPy's own."""

    @abstractmethod
    def close(self) -> None: ...

    def bytes_in(self, array: SavedArray) -> Iterator[bytes]:
        """The bytes of an array, in order."""
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
        """An array as one of NumPy. Bytes that are as wide as the `expected` dtype are of that one."""
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
        """Raises ScanifyError where layers that are to share an array do not have the same one."""
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
    """An array as it stands in its file: all of its bytes."""
    return SavedArray(name, dtype, shape, (Stretch(source, 0, nbytes),) if nbytes else ())


def chunks(file: Any, start: int, size: int, path: Path) -> Iterator[bytes]:
    """`size` bytes of an open file from `start` on. Raises EOFError where it ends before."""
    file.seek(start)
    while size:
        data = file.read(min(size, CHUNK))
        if not data:
            raise EOFError(f"{path}: ends {size} bytes before it should")
        size -= len(data)
        yield data
