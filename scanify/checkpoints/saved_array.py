"""A saved array as the stretches of bytes that it is made of, and stacks and layers of such.

In C order the bytes of a stack are those of its layers, one after another, or by turns if the layers lie along a later
axis. So a stack is made of layers, and a layer is taken out of a stack, without looking at a single number: whatever
the dtype is, nothing is rounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from scanify.errors import ScanifyError

EMPTY = "None"  # the dtype of a leaf that is None, which some formats keep: all layers have it, and so has their stack


@dataclass(frozen=True)
class Stretch:
    """`size` bytes of array number `source` of a file, from byte `start` of that array on."""

    source: int
    start: int
    size: int


@dataclass(frozen=True)
class SavedArray:
    """An array by its name, with its dtype in the words of its file, and the stretches that hold its bytes.

    `known`: it was stacked or taken apart along an axis that is known to be that of layers.
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
        """Dtype and shape as they read in a message."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def named(self, name: str) -> "SavedArray":
        return replace(self, name=name)


def chunks_of(count: int) -> tuple[int, int]:
    """How many chunks of how many layers a nested scan of Flax Linen has, as the target linen writes one."""
    size = max(number for number in range(1, count + 1) if number * number <= count and count % number == 0)
    return count // size, size


def stack(
    name: str, layers: Sequence[SavedArray], counts: Sequence[int] | None = None, axes: Sequence[int] = (0,)
) -> SavedArray:
    """The layers as one array, along new axes of it: one, or several of these sizes, of which the last runs fastest.

    Raises ScanifyError where two of them differ in shape or dtype, or are not whole bytes where they are cut.
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
    """The entries along these axes, the inverse of `stack`.

    Raises ScanifyError where they do not begin and end at whole bytes.
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
    """How many bytes stand one after another both in an array and in its layers."""
    count = prod(shape[: max(axes) + 1])
    size, rest = divmod(nbytes, count) if count else (0, 0)
    if rest:
        raise ScanifyError(
            f"{array.name!r} is {array.kind}: its {array.nbytes} bytes are not {count} parts of whole bytes, so they "
            "cannot be taken apart"
        )
    return size


def _blocks(shape: tuple[int, ...], axes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """For each block of an array, in order: the number of its layer, and the number of the block in that layer."""
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
    """The bytes from `start` on of stretches that stand one after another."""
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
    """The same bytes in as few stretches as there can be."""
    found: list[Stretch] = []
    for stretch in stretches:
        last = found[-1] if found else None
        if last is not None and last.source == stretch.source and last.start + last.size == stretch.start:
            found[-1] = replace(last, size=last.size + stretch.size)
        elif stretch.size:
            found.append(stretch)
    return tuple(found)
