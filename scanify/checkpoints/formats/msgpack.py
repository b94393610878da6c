"""Files of `flax.serialization.to_bytes`: nested maps in msgpack, whose arrays are extensions of type 1.

The name of an array is its path of keys, joined by dots. The format is defined by flax/serialization.py, which writes
arrays of more than 2**30 bytes in chunks; it is read and written with the package msgpack, which Flax requires too.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from scanify.checkpoints.formats.opened import CHUNK, Opened, whole
from scanify.checkpoints.saved_array import EMPTY, SavedArray, Stretch
from scanify.errors import ScanifyError

LARGEST = 1 << 30
"""The size in bytes above which Flax writes an array in chunks."""

_ARRAY = 1  # the extension type of an array
_CHUNKED = "__msgpack_chunked_array__"

Keys = tuple[str, ...]


class _FormatError(ValueError):
    """The file is valid msgpack, but not in the format of `flax.serialization.to_bytes`."""


@dataclass(frozen=True)
class _Array:
    """An array: the name of its dtype, its shape, and its bytes in C order."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class MsgpackFile(Opened):
    """A file of Flax, open for reading.

    `about` holds the values that are not arrays, by their keys, the keys of all values in the order of the file, and
    the keys of each array by its name.
    """

    def __init__(self, path: Path) -> None:
        library = _library(path)
        try:
            tree = library.unpackb(path.read_bytes(), ext_hook=self._extension, object_pairs_hook=_map)
            if not isinstance(tree, Mapping):
                raise _FormatError("expected a map of names at the top")
            entries = list(_entries(tree, ()))
        except (ValueError, TypeError) as error:
            raise ScanifyError(
                f"{path}: is no file of flax.serialization.to_bytes: {str(error) or type(error).__name__}"
            ) from None
        arrays = {keys: value for keys, value in entries if value is None or isinstance(value, _Array)}
        keys_of: dict[str, Keys] = {}
        for keys in arrays:
            name = ".".join(keys)
            if name in keys_of or any("." in key for key in keys):
                raise ScanifyError(f"{path}: {name!r} has a key with a dot in it, so it cannot be told from others")
            keys_of[name] = keys
        self._data = [b"" if value is None else value.data for value in arrays.values()]
        self.arrays: Sequence[SavedArray] = [
            SavedArray(name, EMPTY, (), ())
            if (value := arrays[keys]) is None
            else whole(name, value.dtype, value.shape, len(value.data), at)
            for at, (name, keys) in enumerate(keys_of.items())
        ]
        others = {keys: value for keys, value in entries if keys not in arrays}
        self.about: Any = others, [keys for keys, _ in entries], keys_of

    def _extension(self, kind: int, data: bytes) -> Any:
        library = importlib.import_module("msgpack")
        if kind != _ARRAY:
            return library.ExtType(kind, data)
        shape, dtype, content = library.unpackb(data)
        return _checked(_Array(dtype, tuple(shape), content))

    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        data = memoryview(self._data[stretch.source])[stretch.start : stretch.start + stretch.size]
        return (bytes(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK))

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        return _dtype_named(dtype)

    def close(self) -> None:
        self._data = []


def is_msgpack(begin: bytes) -> bool:
    """True if the first bytes of a file are a msgpack map whose first key is a string."""
    after = {0xDE: 3, 0xDF: 5}.get(begin[0], 1) if begin else 0
    is_map = bool(begin) and (0x81 <= begin[0] <= 0x8F or begin[0] in (0xDE, 0xDF))
    return is_map and len(begin) > after and (0xA0 <= begin[after] <= 0xBF or begin[after] in (0xD9, 0xDA, 0xDB))


def write_msgpack(file: IO[bytes], opened: Any, arrays: Sequence[SavedArray], about: Any) -> None:
    """Write the arrays, with bytes from `opened`, and the other values of its file.

    Raises ScanifyError if two values would have the same name, or if a layer contains a value that is not an array.
    """
    others, order, keys_of = about
    named = {keys_of.get(array.name, tuple(array.name.split("."))): array for array in arrays}
    _check_others(others, set(keys_of.values()), set(named))
    tree: dict[str, Any] = {}
    for keys, value in _in_order(order, named, others):
        _put(tree, keys, value)
    packer = importlib.import_module("msgpack").Packer(strict_types=True)
    _write(file, packer, opened, tree)


def _library(path: Path) -> Any:
    try:
        return importlib.import_module("msgpack")
    except ImportError:
        raise ScanifyError(
            f"{path} is a file of Flax, and msgpack is not found by {sys.executable}. Install it with: "
            "pip install msgpack"
        ) from None


def _map(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Convert pairs to a dict, or to the array if they are the chunks of one."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise _FormatError("a key of a map is no text")
        if key in found:
            raise _FormatError(f"the key {key!r} stands in a map twice")
        found[key] = value
    if _CHUNKED not in found:
        return found
    try:
        shape = tuple(found["shape"][str(at)] for at in range(len(found["shape"])))
        chunks = [found["chunks"][str(at)] for at in range(len(found["chunks"]))]
        (dtype,) = {chunk.dtype for chunk in chunks}
        return _checked(_Array(dtype, shape, b"".join(chunk.data for chunk in chunks)))
    except (KeyError, AttributeError, TypeError):
        raise _FormatError("an array in chunks is not written as to_bytes does") from None


def _checked(array: _Array) -> _Array:
    if len(array.data) != math.prod(array.shape) * _dtype_named(array.dtype).itemsize:
        raise _FormatError(f"an array {array.dtype}{list(array.shape)} has {len(array.data)} bytes")
    return array


def _entries(tree: Mapping[str, Any], above: Keys) -> Iterator[tuple[Keys, Any]]:
    """Yield the values of nested maps, each with its keys. An empty map counts as a value."""
    for key, value in tree.items():
        keys = (*above, key)
        if isinstance(value, dict) and value:
            yield from _entries(value, keys)
            continue
        if isinstance(value, list) and any(isinstance(each, _Array | dict) for each in value):
            raise _FormatError("it has arrays or maps in a list, which to_bytes does not write")
        yield keys, value


def _in_order(order: Sequence[Keys], named: dict[Keys, SavedArray], others: dict[Keys, Any]) -> list[tuple[Keys, Any]]:
    """Return all values in the order of the file; a new array takes the place of the first array it consists of."""
    found: list[tuple[Keys, Any]] = []
    waiting = list(named.items())[::-1]
    known = set(order)
    for keys in order:
        if keys in others:
            found.append((keys, others[keys]))
            continue
        while waiting and waiting[-1][0] not in known:
            found.append(waiting.pop())
        if waiting and waiting[-1][0] == keys:
            found.append(waiting.pop())
    return [*found, *waiting[::-1]]


def _put(tree: dict[str, Any], keys: Keys, value: Any) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
        if not isinstance(tree, dict):
            raise ScanifyError(f"{'.'.join(keys)!r} would stand below {key!r}, which is an array")
    if keys[-1] in tree:
        raise ScanifyError(f"two values would have the name {'.'.join(keys)!r}")
    tree[keys[-1]] = value


def _check_others(others: dict[Keys, Any], before: set[Keys], after: set[Keys]) -> None:
    """Raise ScanifyError if a value that is not an array is next to arrays that were moved elsewhere."""
    for keys in others:
        beside = {name[: len(keys) - 1] for name in before} if len(keys) > 1 else set()
        left = {name[: len(keys) - 1] for name in after}
        if keys[:-1] in beside and keys[:-1] not in left:
            raise ScanifyError(
                f"{'.'.join(keys)!r} is no array and stands among those of a layer, so it cannot be stacked, or taken "
                "apart; leave it out of the checkpoint"
            )


def _write(file: IO[bytes], packer: Any, opened: Any, value: Any) -> None:
    if isinstance(value, dict):
        file.write(packer.pack_map_header(len(value)))
        for key, each in value.items():
            file.write(packer.pack(key))
            _write(file, packer, opened, each)
    elif not isinstance(value, SavedArray):
        file.write(packer.pack(value))
    elif value.dtype == EMPTY:
        file.write(packer.pack(None))
    else:
        data = b"".join(opened.bytes_in(value))
        file.write(packer.pack(_packed(packer, value.dtype, value.shape, data)))


def _packed(packer: Any, dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
    """Convert an array to the values that Flax writes for it."""
    if len(data) <= LARGEST:
        library = importlib.import_module("msgpack")
        return library.ExtType(_ARRAY, library.packb((shape, dtype, data)))
    width = _dtype_named(dtype).itemsize
    size = max(1, LARGEST // width) * width
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    chunks = {str(at): _packed(packer, dtype, (len(piece) // width,), piece) for at, piece in enumerate(pieces)}
    return {_CHUNKED: True, "shape": {str(at): size for at, size in enumerate(shape)}, "chunks": chunks}


def _dtype_named(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype with this name, or bytes of the same width if it is a dtype of ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
        return np.dtype(f"V{np.dtype(getattr(ml_dtypes, name)).itemsize}")
    except (ImportError, AttributeError, TypeError):
        raise _FormatError(f"the dtype {name!r} is not known") from None
