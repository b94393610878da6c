"""Writing files as `flax.serialization.to_bytes` does: see `scanify.checkpoints.formats.msgpack`.

Arrays of more than `LARGEST` bytes are written in pieces.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import IO, Any

from scanify.checkpoints.formats.msgpack import ARRAY, IN_PIECES, Keys, Raw, dtype_named
from scanify.checkpoints.saved_array import EMPTY, SavedArray
from scanify.errors import ScanifyError

LARGEST = 1 << 30
_NIL = b"\xc0"


def write_msgpack(file: IO[bytes], opened: Any, arrays: Sequence[SavedArray], about: Any) -> None:
    """Write the arrays, whose bytes are in `opened`, and beside them what is none."""
    others, order, known = about
    named = {known.get(array.name, tuple(array.name.split("."))): array for array in arrays}
    _check_others(others, set(known.values()), set(named))
    tree: dict[str, Any] = {}
    for keys, value in _in_order(order, named, others):
        _put(tree, keys, value)
    _write(file, opened, tree)


def _in_order(
    order: Sequence[Keys], named: dict[Keys, SavedArray], others: dict[Keys, bytes]
) -> list[tuple[Keys, Any]]:
    """All values, each where it stood, or what it is made of."""
    found: list[tuple[Keys, Any]] = []
    waiting = list(named.items())[::-1]
    there = set(order)
    for keys in order:
        if keys in others:
            found.append((keys, Raw(others[keys])))
            continue
        while waiting and waiting[-1][0] not in there:  # what is new stands where the first went that it is made of
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


def _check_others(others: dict[Keys, bytes], before: set[Keys], after: set[Keys]) -> None:
    """Raises ScanifyError where a value that is no array stood among arrays that have gone elsewhere."""
    for keys in others:
        beside = {name[: len(keys) - 1] for name in before} if len(keys) > 1 else set()
        left = {name[: len(keys) - 1] for name in after}
        if keys[:-1] in beside and keys[:-1] not in left:
            raise ScanifyError(
                f"{'.'.join(keys)!r} is no array and stands among those of a layer, so it cannot be stacked, or taken "
                "apart; leave it out of the checkpoint"
            )


def _write(file: IO[bytes], opened: Any, value: Any) -> None:
    if isinstance(value, Raw):
        file.write(value.data)
    elif isinstance(value, SavedArray):
        _write_array(file, opened, value)
    else:
        file.write(_map_head(len(value)))
        for key, each in value.items():
            file.write(_text(key))
            _write(file, opened, each)


def _write_array(file: IO[bytes], opened: Any, array: SavedArray) -> None:
    if array.dtype == EMPTY:
        file.write(_NIL)
        return
    if array.nbytes <= LARGEST:
        _write_piece(file, array.dtype, array.shape, array.nbytes, opened.bytes_in(array))
        return
    width = dtype_named(array.dtype).itemsize
    most = max(1, LARGEST // width)
    total = array.nbytes // width
    file.write(_map_head(3) + _text(IN_PIECES) + b"\xc3" + _text("shape") + _map_head(len(array.shape)))
    for at, size in enumerate(array.shape):
        file.write(_text(str(at)) + _integer(size))
    file.write(_text("chunks") + _map_head(-(-total // most)))
    data = _Bytes(opened.bytes_in(array))
    for at, start in enumerate(range(0, total, most)):
        count = min(most, total - start)
        file.write(_text(str(at)))
        _write_piece(file, array.dtype, (count,), count * width, data.take(count * width))


class _Bytes:
    """Bytes that come in some pieces, to be taken in others."""

    def __init__(self, data: Iterator[bytes]) -> None:
        self.data, self.left = data, b""

    def take(self, size: int) -> Iterator[bytes]:
        while size:
            some = self.left or next(self.data)
            yield some[:size]
            self.left, size = some[size:], size - min(size, len(some))


def _write_piece(file: IO[bytes], dtype: str, shape: Sequence[int], nbytes: int, data: Iterator[bytes]) -> None:
    head = b"\x93" + bytes([0x90 | len(shape)]) + b"".join(map(_integer, shape)) + _text(dtype)
    head += _sized(nbytes, (0xC4, 0xC5, 0xC6))
    size = len(head) + nbytes
    fixed = {1: 0xD4, 2: 0xD5, 4: 0xD6, 8: 0xD7, 16: 0xD8}.get(size)
    file.write((_sized(size, (0xC7, 0xC8, 0xC9)) if fixed is None else bytes([fixed])) + bytes([ARRAY]) + head)
    for each in data:
        file.write(each)


def _sized(size: int, heads: tuple[int, int, int]) -> bytes:
    """A size behind the byte that says how wide it is."""
    for head, form, limit in zip(heads, "BHI", (1 << 8, 1 << 16, 1 << 32), strict=True):
        if size < limit:
            return struct.pack(f">B{form}", head, size)
    raise ScanifyError(f"{size:,} bytes are too many for msgpack")


def _map_head(count: int) -> bytes:
    if count < 16:
        return bytes([0x80 | count])
    return struct.pack(">BH", 0xDE, count) if count < 1 << 16 else struct.pack(">BI", 0xDF, count)


def _text(text: str) -> bytes:
    data = text.encode()
    return (bytes([0xA0 | len(data)]) if len(data) < 32 else _sized(len(data), (0xD9, 0xDA, 0xDB))) + data


def _integer(number: int) -> bytes:
    if number < 128:
        return bytes([number])
    if number < 1 << 32:
        return _sized(number, (0xCC, 0xCD, 0xCE))
    return struct.pack(">BQ", 0xCF, number)
