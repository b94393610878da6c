"""Files of `flax.serialization.to_bytes`: nested maps in msgpack, whose arrays are extensions of type 1.

The names are the keys on the way to an array with dots between. The formats are those of
https://github.com/msgpack/msgpack/blob/master/spec.md and of flax/serialization.py; large arrays
stand in pieces there. What is no array is kept as the bytes that it is.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from scanify.checkpoints.formats.opened import Opened, chunks
from scanify.checkpoints.saved_array import EMPTY, SavedArray, Stretch
from scanify.errors import ScanifyError

ARRAY = 1  # the extension that is an array
IN_PIECES = "__msgpack_chunked_array__"
_EMPTY_MAP = b"\x80"
_DEPTH = 200

Keys = tuple[str, ...]


class _Wrong(ValueError):
    """What is read is no msgpack, or none of Flax."""


@dataclass(frozen=True)
class Raw:
    """A value that is no array, as it stands in the file."""

    data: bytes


@dataclass(frozen=True)
class _Found:
    """An array: its dtype by name, its shape, and the place and the length of its bytes, piece by piece."""

    dtype: str
    shape: tuple[int, ...]
    pieces: tuple[tuple[int, int], ...]


class MsgpackFile(Opened):
    """A file of Flax, open for reading. `about` are the values that are no arrays, by their keys, and the order of all
    that is in the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        try:
            reader = _Reader(self._file, path.stat().st_size)
            tree = reader.value(0)
            if not isinstance(tree, dict) or self._file.tell() != reader.size:
                raise _Wrong("it is no map, or goes on behind it")
            entries = list(_entries(tree, ()))
        except (_Wrong, struct.error, UnicodeDecodeError) as error:
            self._file.close()
            raise ScanifyError(f"{path}: is no file of flax.serialization.to_bytes: {error}") from None
        self._pieces: list[tuple[int, int]] = []
        self._keys: dict[str, Keys] = {}
        self.arrays: Sequence[SavedArray] = [self._array(keys, v) for keys, v in entries if not isinstance(v, Raw)]
        others = {keys: value.data for keys, value in entries if isinstance(value, Raw)}
        self.about: Any = others, [keys for keys, _ in entries], self._keys

    def _array(self, keys: Keys, value: Any) -> SavedArray:
        name = ".".join(keys)
        if name in self._keys or any("." in key for key in keys):
            self.close()
            raise ScanifyError(f"{self._path}: {name!r} has a key with a dot in it, so it cannot be told from others")
        self._keys[name] = keys
        if value is None:
            return SavedArray(name, EMPTY, (), ())
        stretches = tuple(Stretch(len(self._pieces) + at, 0, size) for at, (_, size) in enumerate(value.pieces) if size)
        self._pieces += value.pieces
        return SavedArray(name, value.dtype, value.shape, stretches)

    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        return chunks(self._file, self._pieces[stretch.source][0] + stretch.start, stretch.size, self._path)

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        return dtype_named(dtype)

    def close(self) -> None:
        self._file.close()


def is_msgpack(begin: bytes) -> bool:
    """Whether what a file begins with is a map of msgpack whose first key is a text."""
    after = {0xDE: 3, 0xDF: 5}.get(begin[0], 1) if begin else 0
    is_map = bool(begin) and (0x81 <= begin[0] <= 0x8F or begin[0] in (0xDE, 0xDF))
    return is_map and len(begin) > after and (0xA0 <= begin[after] <= 0xBF or begin[after] in (0xD9, 0xDA, 0xDB))


def _entries(tree: dict[str, Any], above: Keys) -> Iterator[tuple[Keys, Any]]:
    """What stands in the maps, by its keys; None for nil."""
    for key, value in tree.items():
        keys = (*above, key)
        if isinstance(value, dict) and value:
            yield from _entries(value, keys)
        else:
            yield keys, Raw(_EMPTY_MAP) if isinstance(value, dict) else value


class _Reader:
    """Reads values, but for the bytes of arrays, which it passes by."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file, self.size = file, size

    def value(self, depth: int) -> Any:
        """A dict, a `_Found`, None for nil, or a `Raw`."""
        start = self.file.tell()
        head = self.byte()
        if depth > _DEPTH:
            raise _Wrong("its maps are too deep")
        entries = self.entries_of(head)
        if entries is not None:
            return self.map(entries, depth)
        if head == 0xC0:
            return None
        extension = self.extension_of(head)
        if extension is not None:
            kind = self.number("b")
            end = self.file.tell() + extension
            found = self.array(end) if kind == ARRAY else None
            self.go(end)
            return found if found is not None else self.raw(start)
        self.pass_by(head, depth)
        return self.raw(start)

    def entries_of(self, head: int) -> int | None:
        """How many entries the map has that begins with this byte; None where none does."""
        if 0x80 <= head <= 0x8F:
            return head & 0x0F
        return self.number({0xDE: "H", 0xDF: "I"}[head]) if head in (0xDE, 0xDF) else None

    def extension_of(self, head: int) -> int | None:
        if 0xD4 <= head <= 0xD8:
            return int(1 << (head - 0xD4))
        return self.number("BHI"[head - 0xC7]) if 0xC7 <= head <= 0xC9 else None

    def map(self, count: int, depth: int) -> Any:
        found: dict[str, Any] = {}
        for _ in range(count):
            key = self.text()
            if key in found:
                raise _Wrong(f"the key {key!r} stands in a map twice")
            found[key] = self.value(depth + 1)
        return _in_one(found) if IN_PIECES in found else found

    def text(self) -> str:
        head = self.byte()
        if 0xA0 <= head <= 0xBF:
            return self.bytes(head & 0x1F).decode()
        if 0xD9 <= head <= 0xDB:
            return self.bytes(self.number("BHI"[head - 0xD9])).decode()
        raise _Wrong("a key of a map is no text")

    def array(self, end: int) -> _Found:
        if self.byte() != 0x93:
            raise _Wrong("an array is not written as shape, dtype and bytes")
        count = self.byte()
        if not 0x90 <= count <= 0x9F:
            raise _Wrong("an array has more than fifteen axes")
        shape = tuple(self.integer() for _ in range(count & 0x0F))
        dtype = self.text()
        head = self.byte()
        if not 0xC4 <= head <= 0xC6:
            raise _Wrong("the bytes of an array are written otherwise")
        size = self.number("BHI"[head - 0xC4])
        if self.file.tell() + size != end or size != math.prod(shape) * dtype_named(dtype).itemsize:
            raise _Wrong(f"an array {dtype}{list(shape)} has {size} bytes")
        return _Found(dtype, shape, ((self.file.tell(), size),))

    def integer(self) -> int:
        head = self.byte()
        if head <= 0x7F:
            return head
        if 0xCC <= head <= 0xCF:
            return self.number("BHIQ"[head - 0xCC])
        raise _Wrong("a size is no integer")

    def pass_by(self, head: int, depth: int) -> None:
        """Go behind a value that is neither a map nor an extension, and begins with this byte."""
        if head <= 0x7F or head >= 0xE0 or head in (0xC2, 0xC3):
            return
        if 0xCA <= head <= 0xD3:
            self.go(self.file.tell() + (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)[head - 0xCA])
        elif 0xA0 <= head <= 0xBF:
            self.go(self.file.tell() + (head & 0x1F))
        elif 0xC4 <= head <= 0xC6 or 0xD9 <= head <= 0xDB:
            size = self.number("BHI"[head - (0xC4 if head <= 0xC6 else 0xD9)])
            self.go(self.file.tell() + size)
        elif 0x90 <= head <= 0x9F or head in (0xDC, 0xDD):
            count = head & 0x0F if head <= 0x9F else self.number({0xDC: "H", 0xDD: "I"}[head])
            for _ in range(count):
                if isinstance(self.value(depth + 1), _Found | dict):
                    raise _Wrong("it has arrays or maps in a list, which to_bytes does not write")
        else:
            raise _Wrong(f"no value begins with the byte {head:#x}")

    def byte(self) -> int:
        return self.bytes(1)[0]

    def bytes(self, count: int) -> bytes:
        data = self.file.read(count)
        if len(data) < count:
            raise _Wrong("it ends before it should")
        return data

    def number(self, form: str) -> int:
        found: int = struct.unpack(f">{form}", self.bytes(struct.calcsize(f">{form}")))[0]
        return found

    def go(self, place: int) -> None:
        if place > self.size:
            raise _Wrong("it ends before it should")
        self.file.seek(place)

    def raw(self, start: int) -> Raw:
        end = self.file.tell()
        self.file.seek(start)
        return Raw(self.bytes(end - start))


def _in_one(found: dict[str, Any]) -> _Found:
    """The array that a map holds in pieces."""
    try:
        sizes = [found["shape"][str(at)].data for at in range(len(found["shape"]))]
        pieces = [found["chunks"][str(at)] for at in range(len(found["chunks"]))]
        shape = tuple(_number(data) for data in sizes)
        dtype = pieces[0].dtype
        whole = tuple(part for piece in pieces for part in piece.pieces)
    except (KeyError, AttributeError, TypeError, IndexError):
        raise _Wrong("an array in pieces is not written as to_bytes does") from None
    if any(piece.dtype != dtype for piece in pieces) or sum(size for _, size in whole) != (
        math.prod(shape) * dtype_named(dtype).itemsize
    ):
        raise _Wrong(f"an array in pieces, {dtype}{list(shape)}, has other bytes")
    return _Found(dtype, shape, whole)


def _number(data: bytes) -> int:
    return data[0] if len(data) == 1 else int.from_bytes(data[1:], "big")


def dtype_named(name: str) -> np.dtype[Any]:
    """The dtype of a name; that of bytes where it is none of NumPy's own."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes

        return np.dtype(f"V{np.dtype(getattr(ml_dtypes, name)).itemsize}")
    except (ImportError, AttributeError, TypeError):
        raise _Wrong(f"the dtype {name!r} is not known") from None
