"""A saved array as the stretches of bytes that it is made of, and stacks and layers of such.

In C order the bytes of a stack are those of its layers, one after another. So a stack is made of layers, and a layer is
taken out of a stack, without looking at a single number: whatever the dtype is, nothing is rounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """An array by its name, with its dtype in the words of its file, and the stretches that hold its bytes."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    stretches: tuple[Stretch, ...]

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


def stack(name: str, layers: Sequence[SavedArray], *, nested: bool = False) -> SavedArray:
    """The layers as one array with a new first axis, or with two where it is `nested`: chunks, and layers of a chunk.

    Raises ScanifyError where two of them differ in shape or dtype.
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
    stretches = _joined([stretch for layer in layers for stretch in layer.stretches])
    lead = chunks_of(len(layers)) if nested else (len(layers),)
    return SavedArray(name, first.dtype, (*lead, *first.shape), stretches)


def layer_of(array: SavedArray, index: int, name: str) -> SavedArray:
    """Entry `index` along the first axis. Raises ScanifyError where it does not begin and end at a whole byte."""
    if array.dtype == EMPTY:
        return array.named(name)
    count, inner = array.shape[0], array.shape[1:]
    size, rest = divmod(array.nbytes, count)
    if rest:
        raise ScanifyError(
            f"{array.name!r} is {array.kind}: its {array.nbytes} bytes are not {count} layers of whole bytes, so they "
            "cannot be taken apart"
        )
    return SavedArray(name, array.dtype, inner, _cut(array.stretches, index * size, size))


def _cut(stretches: Sequence[Stretch], start: int, size: int) -> tuple[Stretch, ...]:
    """The bytes from `start` on of stretches that stand one after another."""
    found, at = [], 0
    for stretch in stretches:
        low, high = max(start, at), min(start + size, at + stretch.size)
        if low < high:
            found.append(Stretch(stretch.source, stretch.start + low - at, high - low))
        at += stretch.size
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
