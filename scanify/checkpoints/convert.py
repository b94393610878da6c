"""Convert a checkpoint from one layout to the other, array by array, completely or not at all."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanify.checkpoints import stack_leaves, unstack_leaves
from scanify.checkpoints.formats.open_file import EQUINOX, OPEN, ORBAX, WRITE, format_of, open_file
from scanify.checkpoints.names import Prefix, demand_axis, demand_order, joined, layers_under, stacks_under, taken_apart
from scanify.checkpoints.saved_array import SavedArray
from scanify.errors import ScanifyError


@dataclass(frozen=True)
class Counts:
    """The number of arrays before and after a conversion, and the bytes of the new arrays."""

    before: int
    after: int
    nbytes: int


@dataclass(frozen=True)
class _Plan:
    """The arrays of the new file, pairs of arrays of the old file that must be equal, and the inverse conversion."""

    arrays: list[SavedArray]
    equal: list[tuple[SavedArray, SavedArray]]
    back: Callable[[Sequence[SavedArray]], Sequence[SavedArray]]


def convert_names(
    old: Path, new: Path, steps: Sequence[tuple[bool, Prefix]], *, axis: int | None = None, nested: bool = False
) -> Counts:
    """Convert a file with named arrays. `steps` are applied in order: whether to stack or unstack, and a prefix.

    `axis` is the layer axis of the stacks; None means the first, and is allowed only if there can be no other. With
    `nested`, stacks have two axes for layers, chunks and layers of a chunk, as in `flax.linen.remat_scan`. Raises
    ScanifyError with the names if the file does not fit; in that case nothing is written.
    """
    if format_of(old) == EQUINOX:
        raise ScanifyError(
            f"{old}: `equinox.tree_serialise_leaves` saves no names, so the layers cannot be found by one: give the "
            "rewritten model with --like FILE:FUNCTION"
        )

    def plan(opened: Any) -> _Plan:
        arrays, done = list(opened.arrays), []
        last: dict[str, tuple[bool, str]] = {}
        for stacks, prefix in steps:
            groups = (layers_under if stacks else stacks_under)(arrays, prefix, axis or 0, nested=nested)
            demand_order(groups, last, prefix, stacks=stacks)
            if axis is None:
                demand_axis(arrays, groups, prefix, stacks=stacks)
            arrays = (joined if stacks else taken_apart)(arrays, groups)
            done.append((stacks, groups))

        def back(arrays: Sequence[SavedArray]) -> list[SavedArray]:
            for stacks, groups in reversed(done):
                arrays = (taken_apart if stacks else joined)(arrays, groups)
            order = {array.name: at for at, array in enumerate(opened.arrays)}
            return sorted(arrays, key=lambda array: order.get(array.name, len(order)))

        return _Plan(arrays, [], back)

    return _convert(old, new, plan)


def convert_leaves(old: Path, new: Path, like: Callable[[], Any], *, to_list: bool) -> Counts:
    """Convert a file of serialised leaves. `like` builds the tree with stacks, for either direction.

    Raises ScanifyError with the places if the file does not fit; in that case nothing is written.
    """
    if format_of(old) != EQUINOX:
        raise ScanifyError(
            f"{old}: the arrays of this file have names, which say more than an order: give what they begin with, "
            "--stack PREFIX or --unstack PREFIX"
        )

    tree = like()

    def plan(opened: Any) -> _Plan:
        forward, backward = (unstack_leaves, stack_leaves) if to_list else (stack_leaves, unstack_leaves)
        done = forward(opened.arrays, tree)
        return _Plan(done.arrays, done.equal, lambda arrays: backward(arrays, tree).arrays)

    return _convert(old, new, plan)


def _convert(old: Path, new: Path, plan: Callable[[Any], _Plan]) -> Counts:
    known = format_of(old)
    try:
        with open_file(old) as opened:
            todo = plan(opened)
            opened.demand_equal(todo.equal)

            def check(place: Path) -> None:
                with OPEN[known](place) as made:
                    _demand_same(opened, made, todo.back(made.arrays))

            put = _write_folder if known == ORBAX else _write
            try:
                put(new, lambda place: WRITE[known](place, opened, todo.arrays, opened.about), check)
            except OSError as error:
                raise ScanifyError(f"{new} cannot be written: {error.strerror or error}") from None
            return Counts(len(opened.arrays), len(todo.arrays), sum(array.nbytes for array in todo.arrays))
    except ScanifyError as error:
        at = "" if str(error).startswith(str(old)) else f"{old}: "
        raise ScanifyError(f"{at}{error}; nothing was written") from None


def _demand_same(old: Any, new: Any, back: Sequence[SavedArray]) -> None:
    """Raise ScanifyError unless `back`, the new file converted back, has the arrays of the old file, bit for bit."""
    if len(back) != len(old.arrays):
        raise ScanifyError(f"expected {len(old.arrays)} arrays when the new file is converted back, got {len(back)}")
    for array, again in zip(old.arrays, back, strict=True):
        if (array.dtype, array.shape) != (again.dtype, again.shape) or _digest(old, array) != _digest(new, again):
            raise ScanifyError(
                f"{array.name!r} ({array.kind}) is not what it was when the new file is converted back: it is "
                f"{again.name!r} ({again.kind}) there. This is a bug of scanify, or the file was not written as asked"
            )


def _digest(opened: Any, array: SavedArray) -> bytes:
    found = hashlib.blake2b()
    for data in opened.bytes_in(array):
        found.update(data)
    return found.digest()


def _write_folder(new: Path, write: Callable[[Any], None], check: Callable[[Path], None]) -> None:
    """Write a folder next to `new`, check it, and move it into place."""
    with tempfile.TemporaryDirectory(prefix=f".{new.name}.", suffix=".scanify", dir=new.parent) as space:
        made = Path(space, new.name)
        write(made)
        check(made)
        made.replace(new)


def _write(new: Path, write: Callable[[Any], None], check: Callable[[Path], None]) -> None:
    """Write a file next to `new`, check it, and move it into place."""
    handle, name = tempfile.mkstemp(prefix=f".{new.name}.", suffix=".scanify", dir=new.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        check(Path(name))
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(new)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
