"""A saved array as a sequence of byte ranges, and stacking and unstacking of such arrays.

In C order, the bytes of a stack are the concatenated bytes of its layers, or interleaved blocks of them if the layer
axis is not the first. So arrays are stacked and unstacked without interpreting any value: nothing is rounded, whatever
the dtype.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from scanify.errors import ScanifyError

EMPTY = "None"  # the dtype of a leaf that is None, which some formats store; the stack of such leaves is None, too


@dataclass(frozen=True)
class Stretch:
    """`size` bytes of array number `source` of a file, from byte `start` of that array."""

    source: int
    start: int
    size: int


@dataclass(frozen=True)
class SavedArray:
    """A named array with its shape, its dtype as spelled in its file, and the stretches that hold its bytes.

    `known` is true if the array was stacked or unstacked along an axis known to be a layer axis.
    """

    name: str
    dtype: Any
    shape: tuple[int, ...]
    stretches: tuple[Stretch, ...]
    known: bool = False

    @property
    def nbytes(self) -> int:
        return sum(stretch.size for stretch in self.stretches)

    @property
    def kind(self) -> str:
        """Dtype and shape as shown in messages."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def named(self, name: str) -> "SavedArray":
        return replace(self, name=name)


def chunks_of(count: int) -> tuple[int, int]:
    """Return the number and size of chunks in a nested scan of Flax Linen, as written by the target linen."""
    size = max(number for number in range(1, count + 1) if number * number <= count and count % number == 0)
    return count // size, size


def stack(
    name: str, layers: Sequence[SavedArray], counts: Sequence[int] | None = None, axes: Sequence[int] = (0,)
) -> SavedArray:
    """Stack layers along one new axis, or along several of the sizes `counts`, of which the last varies fastest.

    Raises ScanifyError if layers differ in shape or dtype, or if their blocks are not whole bytes.
    """
    first = layers[0]
    for layer in layers[1:]:
        if (layer.dtype, layer.shape) != (first.dtype, first.shape):
            raise ScanifyError(
                f"expected layers whose arrays have one shape and dtype, which can be stacked; {first.name!r} is "
                f"{first.kind} and {layer.name!r} is {layer.kind}"
            )
    if first.dtype == EMPTY:
        return first.named(name)
    if max(axes) >= len(first.shape) + len(axes):
        raise ScanifyError(f"{first.name!r} is {first.kind}: its layers cannot be stacked along axis {max(axes)}")
    sizes = dict(zip(axes, counts or [len(layers)], strict=True))
    rest = iter(first.shape)
    shape = tuple(sizes[at] if at in sizes else next(rest) for at in range(len(first.shape) + len(axes)))
    size = _block(shape, axes, sum(layer.nbytes for layer in layers), first)
    found = [
        stretch for row, at in _blocks(shape, axes) for stretch in _cut(layers[row].stretches, at * size, size) if size
    ]
    return SavedArray(name, first.dtype, shape, _joined(found), known=True)


def apart(array: SavedArray, names: Sequence[str], axes: Sequence[int] = (0,)) -> list[SavedArray]:
    """Return the entries along these axes: the inverse of `stack`.

    Raises ScanifyError if the entries do not begin and end at whole bytes.
    """
    if array.dtype == EMPTY:
        return [array.named(name) for name in names]
    size = _block(array.shape, axes, array.nbytes, array)
    found: list[list[Stretch]] = [[] for _ in names]
    for block, (row, _) in enumerate(_blocks(array.shape, axes) if size else ()):
        found[row] += _cut(array.stretches, block * size, size)
    shape = tuple(length for axis, length in enumerate(array.shape) if axis not in axes)
    return [
        SavedArray(name, array.dtype, shape, _joined(each), known=True) for name, each in zip(names, found, strict=True)
    ]


def _block(shape: tuple[int, ...], axes: Sequence[int], nbytes: int, array: SavedArray) -> int:
    """Return the number of bytes that are contiguous both in an array and in its layers."""
    count = prod(shape[: max(axes) + 1])
    size, rest = divmod(nbytes, count) if count else (0, 0)
    if rest:
        raise ScanifyError(
            f"{array.name!r} is {array.kind}: its {array.nbytes} bytes are not {count} parts of whole bytes, so they "
            "cannot be taken apart"
        )
    return size


def _blocks(shape: tuple[int, ...], axes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield, for each block of an array, the number of its layer and the number of the block in that layer."""
    lead = shape[: max(axes) + 1]
    others = [axis for axis in range(len(lead)) if axis not in axes]
    for at in product(*map(range, lead)):
        yield _number(at, lead, axes), _number(at, lead, others)


def _number(at: Sequence[int], shape: Sequence[int], axes: Sequence[int]) -> int:
    number = 0
    for axis in axes:
        number = number * shape[axis] + at[axis]
    return number


def _cut(stretches: Sequence[Stretch], start: int, size: int) -> tuple[Stretch, ...]:
    """Return the bytes from `start` in concatenated stretches."""
    found, at = [], 0
    for stretch in stretches:
        low, high = max(start, at), min(start + size, at + stretch.size)
        if low < high:
            found.append(Stretch(stretch.source, stretch.start + low - at, high - low))
        at += stretch.size
        if at >= start + size:
            break
    return tuple(found)


def _joined(stretches: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """Merge adjacent stretches."""
    found: list[Stretch] = []
    for stretch in stretches:
        last = found[-1] if found else None
        if last is not None and last.source == stretch.source and last.start + last.size == stretch.start:
            found[-1] = replace(last, size=last.size + stretch.size)
        elif stretch.size:
            found.append(stretch)
    return tuple(found)
