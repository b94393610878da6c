"""NumPy archives (`numpy.savez`): a zip file with one file in NumPy's format per array."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from scanify.checkpoints.formats.npy import numpy_dtype, read_header, write_header
from scanify.checkpoints.formats.opened import CHUNK, Opened, chunks
from scanify.checkpoints.saved_array import SavedArray, Stretch
from scanify.errors import ScanifyError

_END = ".npy"


class NpzFile(Opened):
    """A NumPy archive, open for reading. `about` is the compression of its members."""

    in_turn = True

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise ScanifyError(f"{path}: is no NumPy archive: {error}") from None
        self._members: list[tuple[str, int]] = []  # with the length of the header
        self._open: tuple[int, Any] | None = None  # the open member
        self._turned: dict[int, bytes] = {}  # the last array read in Fortran order, converted to C order
        self._fortran: set[int] = set()
        infos = self._zip.infolist()
        self.about: Any = max((info.compress_type for info in infos), default=zipfile.ZIP_STORED)
        self.arrays: Sequence[SavedArray] = [self._read(at, info.filename) for at, info in enumerate(infos)]

    def _read(self, at: int, member: str) -> SavedArray:
        if not member.endswith(_END):
            self.close()
            raise ScanifyError(f"{self._path}: is no NumPy archive: it holds {member!r}, which is no array")
        name = member.removesuffix(_END)
        with self._zip.open(member) as file:
            array, fortran = read_header(file, at, name, str(self._path))
            self._members.append((member, file.tell()))
        if fortran:
            self._fortran.add(at)
        return array

    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        if stretch.source in self._fortran:
            return self._of_turned(stretch)
        return chunks(
            self._member(stretch.source), self._members[stretch.source][1] + stretch.start, stretch.size, self._path
        )

    def numpy_dtype(self, dtype: Any) -> "np.dtype[Any]":
        return numpy_dtype(dtype)

    def _member(self, source: int) -> Any:
        """Return a member, left open so that the next read of a compressed one continues where the last one ended."""
        if self._open is None or self._open[0] != source:
            if self._open is not None:
                self._open[1].close()
            self._open = source, self._zip.open(self._members[source][0])
        return self._open[1]

    def _of_turned(self, stretch: Stretch) -> Iterator[bytes]:
        """Read an array in Fortran order as a whole, since its layers are not contiguous."""
        if stretch.source not in self._turned:
            with self._zip.open(self._members[stretch.source][0]) as file:
                self._turned = {stretch.source: np.lib.format.read_array(file).tobytes()}
        data = memoryview(self._turned[stretch.source])[stretch.start : stretch.start + stretch.size]
        return (bytes(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK))

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
        self._zip.close()


def write_npz(file: IO[bytes], opened: Any, arrays: Sequence[SavedArray], about: Any) -> None:
    """Write the arrays, with bytes from `opened`, using the compression in `about`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED if about is None else about) as archive:
        for array in arrays:
            with archive.open(f"{array.name}{_END}", "w", force_zip64=True) as member:
                write_header(member, array.dtype, array.shape)
                for data in opened.bytes_in(array):
                    member.write(data)
