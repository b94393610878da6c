"""Files of `equinox.tree_serialise_leaves`: the leaves in NumPy's format one after another, without names.

They often begin with a line of JSON with the hyperparameters
(https://docs.kidger.site/equinox/examples/serialisation/).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from scanify.checkpoints.formats.npy import MAGIC, numpy_dtype, read_header, write_header
from scanify.checkpoints.formats.opened import Opened, chunks
from scanify.checkpoints.saved_array import SavedArray, Stretch
from scanify.errors import ScanifyError

_LOOKED_AT = 1 << 20  # bytes searched for the first array


class EquinoxFile(Opened):
    """A file of serialised leaves, open for reading. Arrays are named by number; `about` is the data before them."""

    def __init__(self, file: Any, where: str) -> None:
        self._file, self._where = file, where
        begin = file.tell()
        before = file.read(_LOOKED_AT).partition(MAGIC)
        if not before[1]:
            raise ScanifyError(
                f"{where}: is no file of `equinox.tree_serialise_leaves`: no array in NumPy's format is in it"
            )
        self.about: Any = before[0]
        self._starts: list[int] = []
        size = file.seek(0, 2)
        at = begin + len(before[0])
        found: list[SavedArray] = []
        while at < size:
            file.seek(at)
            array, fortran = read_header(file, len(found), f"leaf {len(found)}", where)
            if fortran:
                # Only NumPy arrays are saved like this; the new file would have to record the order as well.
                raise ScanifyError(
                    f"{where}: {array.name} is a NumPy array in Fortran order, whose layers are not one after another; "
                    "save it as `numpy.ascontiguousarray`"
                )
            self._starts.append(file.tell())
            at = file.tell() + array.nbytes
            if at > size:
                raise ScanifyError(f"{where}: ends within {array.name}; it was not written to its end")
            found.append(array)
        self.arrays: Sequence[SavedArray] = found

    @staticmethod
    def of(path: Path) -> "EquinoxFile":
        file = path.open("rb")
        try:
            return EquinoxFile(file, str(path))
        except BaseException:
            file.close()
            raise

    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        return chunks(self._file, self._starts[stretch.source] + stretch.start, stretch.size, Path(self._where))

    def numpy_dtype(self, dtype: Any) -> "np.dtype[Any]":
        return numpy_dtype(dtype)

    def close(self) -> None:
        self._file.close()


def write_equinox(file: IO[bytes], opened: Any, arrays: Sequence[SavedArray], about: Any) -> None:
    """Write the arrays in order, with bytes from `opened`, after the data that preceded the first array."""
    file.write(about or b"")
    for array in arrays:
        write_header(file, array.dtype, array.shape)
        for data in opened.bytes_in(array):
            file.write(data)
