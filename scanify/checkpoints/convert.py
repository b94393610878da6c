"""A checkpoint in one layout written anew in the other: piece by piece, to the end or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scanify.checkpoints.formats.open_file import EQUINOX, ORBAX, WRITE, format_of, open_file
from scanify.checkpoints.names import Prefix, stack_names, unstack_names
from scanify.checkpoints.saved_array import SavedArray
from scanify.errors import ScanifyError


@dataclass(frozen=True)
class Counts:
    """How many arrays there were and are, and of how many bytes those that are new."""

    before: int
    after: int
    nbytes: int


def convert_names(old: Path, new: Path, steps: Sequence[tuple[bool, Prefix]], *, nested: bool = False) -> Counts:
    """Convert a file whose arrays have names. `steps` are taken in turn: a prefix, and whether it is to be stacked.

    `nested`: stacks have two axes in front, chunks and layers of a chunk, as those of `flax.linen.remat_scan`.

    Raises ScanifyError where the file does not fit, with the names; then nothing is written.
    """
    if format_of(old) == EQUINOX:
        raise ScanifyError(
            f"{old}: `equinox.tree_serialise_leaves` saves no names, so the layers cannot be found by one: give the "
            "rewritten model with --like FILE:FUNCTION"
        )

    def plan(opened: Any) -> tuple[list[SavedArray], list[tuple[SavedArray, SavedArray]]]:
        arrays = list(opened.arrays)
        for stacks, prefix in steps:
            arrays = (stack_names if stacks else unstack_names)(arrays, prefix, nested=nested)
        return arrays, []

    return _convert(old, new, plan)


def convert_leaves(old: Path, new: Path, like: Callable[[], Any], *, to_list: bool) -> Counts:
    """Convert a file of serialised leaves; `like` makes the tree with stacks that it holds, or
    is to hold.

    Raises ScanifyError where the file does not fit, with the places; then nothing is written.
    """
    if format_of(old) != EQUINOX:
        raise ScanifyError(
            f"{old}: the arrays of this file have names, which say more than an order: give what they begin with, "
            "--stack PREFIX or --unstack PREFIX"
        )

    tree = like()

    def plan(opened: Any) -> tuple[list[SavedArray], list[tuple[SavedArray, SavedArray]]]:
        from scanify.checkpoints.trees import stack_leaves, unstack_leaves

        done = (unstack_leaves if to_list else stack_leaves)(opened.arrays, tree)
        return done.arrays, done.equal

    return _convert(old, new, plan)


def _convert(old: Path, new: Path, plan: Callable[[Any], Any]) -> Counts:
    known = format_of(old)
    try:
        with open_file(old) as opened:
            arrays, equal = plan(opened)
            opened.demand_equal(equal)
            put = _write_folder if known == ORBAX else _write
            try:
                put(new, lambda place: WRITE[known](place, opened, arrays, opened.about))
            except OSError as error:
                raise ScanifyError(f"{new} cannot be written: {error.strerror or error}") from None
            return Counts(len(opened.arrays), len(arrays), sum(array.nbytes for array in arrays))
    except ScanifyError as error:
        at = "" if str(error).startswith(str(old)) else f"{old}: "
        raise ScanifyError(f"{at}{error}; nothing was written") from None


def _write_folder(new: Path, write: Callable[[Any], None]) -> None:
    """Write a folder beside `new` and put it in its place when it is finished."""
    with tempfile.TemporaryDirectory(prefix=f".{new.name}.", suffix=".scanify", dir=new.parent) as space:
        made = Path(space, new.name)
        write(made)
        made.replace(new)


def _write(new: Path, write: Callable[[Any], None]) -> None:
    """Write a file beside `new` and put it in its place when it is finished."""
    handle, name = tempfile.mkstemp(prefix=f".{new.name}.", suffix=".scanify", dir=new.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(new)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
