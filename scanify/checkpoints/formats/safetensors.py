"""safetensors files: a length, a header in JSON, and the bytes of all arrays one after another.

The format (https://github.com/huggingface/safetensors) is read and written without the package of that name, which
reads whole arrays and does not know every dtype.
"""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from scanify.checkpoints.formats.opened import Opened, chunks, whole
from scanify.checkpoints.saved_array import SavedArray, Stretch
from scanify.errors import ScanifyError

_NUMPY = {
    "BOOL": "bool",
    **{
        f"{letter}{bits}": f"{kind}{bits}" for letter, kind in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)
    },
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "C64": "complex64",
}
_LENGTH = struct.Struct("<Q")
_LONGEST = 100_000_000  # the largest header in bytes that the format allows


class SafetensorsFile(Opened):
    """A safetensors file, open for reading. `about` is its `__metadata__`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        try:
            header, self._begin = _header(self._file, path)
            self.about: Any = header.pop("__metadata__", None)
            self._starts: list[int] = []
            found: list[SavedArray] = []
            for name, told in header.items():
                start, end = told["data_offsets"]
                self._starts.append(self._begin + start)
                self._check(name, self._begin + start, end - start)
                _check_size(path, name, told["dtype"], told["shape"], end - start)
                found.append(whole(name, told["dtype"], tuple(told["shape"]), end - start, len(found)))
            self.arrays: Sequence[SavedArray] = found
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self._file.close()
            raise ScanifyError(f"{path}: is no safetensors file: its header cannot be read ({error})") from None
        except ScanifyError:
            self._file.close()
            raise

    def _check(self, name: str, start: int, nbytes: int) -> None:
        size = self._path.stat().st_size
        if nbytes < 0 or start < self._begin or start + nbytes > size:
            raise ScanifyError(
                f"{self._path}: {name!r} should be bytes {start} to {start + nbytes}, and the file has {size}; it was "
                "not written to its end"
            )

    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        return chunks(self._file, self._starts[stretch.source] + stretch.start, stretch.size, self._path)

    def numpy_dtype(self, dtype: Any) -> "np.dtype[Any]":
        width = _bits(dtype)
        return np.dtype(_NUMPY.get(dtype, f"V{width // 8}"))

    def close(self) -> None:
        self._file.close()


def _header(file: IO[bytes], path: Path) -> tuple[dict[str, Any], int]:
    """Return the header and the offset of the arrays' bytes."""
    data = file.read(_LENGTH.size)
    length = _LENGTH.unpack(data)[0] if len(data) == _LENGTH.size else _LONGEST + 1
    if length > _LONGEST:
        raise ScanifyError(f"{path}: is no safetensors file: it does not begin with the length of a header")
    header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ScanifyError(f"{path}: is no safetensors file: its header is no JSON object")
    return header, _LENGTH.size + length


def _check_size(path: Path, name: str, dtype: object, shape: object, nbytes: int) -> None:
    """Raise ScanifyError if an array of this dtype and shape does not have `nbytes` bytes."""
    sizes = shape if isinstance(shape, list) else [None]
    if isinstance(dtype, str) and all(isinstance(size, int) and size >= 0 for size in sizes):
        expected = -(-_bits(dtype) * math.prod(sizes) // 8)  # some dtypes are narrower than a byte
        if nbytes == expected:
            return
    raise ScanifyError(
        f"{path}: {name!r} should have dtype {dtype!r} and shape {shape!r}, and has {nbytes} bytes, which do not fit; "
        "the file is damaged, or written by a program that does not keep to the format"
    )


def write_safetensors(file: IO[bytes], opened: Any, arrays: Sequence[SavedArray], about: Any) -> None:
    """Write the arrays, with bytes from `opened`; wide dtypes come first so that all arrays are aligned."""
    ordered = sorted(arrays, key=lambda array: (-_bits(array.dtype), array.name))
    header: dict[str, Any] = {} if about is None else {"__metadata__": about}
    at = 0
    for array in ordered:
        header[array.name] = {
            "dtype": array.dtype,
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(_LENGTH.pack(len(text)) + text)
    for array in ordered:
        for data in opened.bytes_in(array):
            file.write(data)


def _bits(dtype: str) -> int:
    """Return the width in bits of a dtype such as `BF16`, `F8_E4M3`, `I64` or `BOOL`."""
    digits = "".join(c for c in dtype.partition("_")[0] if c.isdigit())
    return int(digits) if digits else 8
