"""What all formats have in common: a file that is open for reading, whose bytes are taken piece by piece."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from scanify.checkpoints.saved_array import SavedArray, Stretch

CHUNK = 8 << 20  # bytes that are in memory at a time


class Opened(Protocol):
    """A file with arrays. `about` is what it says beside them, in the form that its own writer takes."""

    arrays: Sequence[SavedArray]
    about: Any

    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        """The bytes of a stretch, at most `CHUNK` of them at a time."""

    def close(self) -> None: ...


class Closing:
    """Closes what was opened at the end of a `with`."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True)
class Whole:
    """An array as it stands in its file: all of its bytes."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    nbytes: int

    def saved(self, source: int) -> SavedArray:
        stretches = (Stretch(source, 0, self.nbytes),) if self.nbytes else ()
        return SavedArray(self.name, self.dtype, self.shape, stretches)


def chunks(file: Any, start: int, size: int, path: Path) -> Iterator[bytes]:
    """`size` bytes of an open file from `start` on. Raises EOFError where it ends before."""
    file.seek(start)
    while size:
        data = file.read(min(size, CHUNK))
        if not data:
            raise EOFError(f"{path}: ends {size} bytes before it should")
        size -= len(data)
        yield data


def bytes_of(opened: Opened, array: SavedArray) -> Iterator[bytes]:
    """The bytes of an array, in order."""
    for stretch in array.stretches:
        yield from opened.bytes_of(stretch)
