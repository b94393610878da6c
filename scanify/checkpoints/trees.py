"""Convert leaves between a list of layers and a stack, for files without names.

The position of each leaf follows from the rewritten model: each of its stacks replaces a list of layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from scanify.checkpoints.formats.npy import numpy_dtype
from scanify.checkpoints.saved_array import SavedArray, apart, stack
from scanify.errors import ScanifyError
from scanify.nn.list_form import Part, list_form

_SHOWN = 5
_KINDS = {bool: "b", int: "iu", float: "f", complex: "c"}


@dataclass(frozen=True)
class Converted:
    """The arrays of the new file in order, and pairs of old arrays that must be equal, of which one is kept."""

    arrays: list[SavedArray]
    equal: list[tuple[SavedArray, SavedArray]]


def stack_leaves(arrays: Sequence[SavedArray], like: Any) -> Converted:
    """Convert the leaves of the list form to the leaves of `like`, which has stacks.

    Raises ScanifyError with the places if their number, a shape or a dtype does not match.
    """
    parts, names = _forms(like)
    _check(arrays, [(part.name, part.shape, part.dtype) for part in parts], _whole(parts, names), "list", "stacked")
    given: dict[int, dict[int, SavedArray]] = {}
    equal = []
    for array, part in zip(arrays, parts, strict=True):
        named = array.named(part.name)
        rows = given.setdefault(part.leaf, {})
        if part.row in rows:
            equal.append((rows[part.row], named))
        rows.setdefault(part.row, named)
    found = []
    outlines = {part.leaf: part for part in parts}
    for leaf, part in sorted(outlines.items()):
        missing = [row for row in range(part.parts) if row not in given[leaf]]
        if missing:
            raise ScanifyError(
                f"{names[leaf]} has {part.parts} entries, and entry {missing[0]} is that of no layer of the sequence, "
                "so no list of layers has it"
            )
        counts = tuple(count for _, count in part.rows)
        layers = [given[leaf][row] for row in range(part.parts)]
        made = stack(names[leaf], layers, counts, part.axes) if counts else layers[0]
        found.append(made.named(names[leaf]))
    return Converted(found, equal)


def unstack_leaves(arrays: Sequence[SavedArray], like: Any) -> Converted:
    """Convert the leaves of `like`, which has stacks, to its list form: the inverse of `stack_leaves`."""
    parts, names = _forms(like)
    whole = _whole(parts, names)
    _check(arrays, whole, [(part.name, part.shape, part.dtype) for part in parts], "stacked", "list")
    order = sorted({part.leaf for part in parts})
    given = {leaf: array.named(names[leaf]) for leaf, array in zip(order, arrays, strict=True)}
    layers = {part.leaf: apart(given[part.leaf], [""] * part.parts, part.axes) for part in parts if part.rows}
    found = [(layers[part.leaf][part.row] if part.rows else given[part.leaf]).named(part.name) for part in parts]
    return Converted(found, [])


_Outline = tuple[str, tuple[int, ...], Any]


def _forms(like: Any) -> tuple[list[Part], list[str]]:
    try:
        parts, names = list_form(like, known=True)
    except ValueError as error:
        raise ScanifyError(str(error)) from None
    if [part.leaf for part in parts] == list(range(len(parts))) and not any(part.rows for part in parts):
        raise ScanifyError(
            "expected a tree with stacks of layers, as the rewritten model has; this has none (ArrayStacked, "
            "BlockSeq), so its checkpoints stay as they are"
        )
    keys = [part.name for part in parts if jax.dtypes.issubdtype(part.dtype, jax.dtypes.prng_key)]
    if keys:
        raise ScanifyError(
            f"Equinox saves no PRNG key arrays, and there are some in the tree: {_some(keys)}. Keep "
            "`jax.random.key_data(key)` in it instead, or leave them out"
        )
    return parts, names


def _whole(parts: Sequence[Part], names: Sequence[str]) -> list[_Outline]:
    """Return the leaves of the stacked form."""
    outlines = {part.leaf: part for part in parts}
    return [
        (names[leaf], tuple(getattr(part.value, "shape", ())), part.dtype) for leaf, part in sorted(outlines.items())
    ]


def _check(
    arrays: Sequence[SavedArray],
    expected: Sequence[_Outline],
    others: Sequence[_Outline],
    form: str,
    other: str,
) -> None:
    """Raise ScanifyError if the arrays do not match the expected ones."""
    wrong = [
        f"leaf {at} is {array.kind}, expected {_text(outline)} for {outline[0]}"
        for at, (array, outline) in enumerate(zip(arrays, expected, strict=False))
        if not _fits(array, outline)
    ]
    if not wrong and len(arrays) == len(expected):
        return
    if len(arrays) == len(others) and all(map(_fits, arrays, others)):
        raise ScanifyError(f"expected the leaves of the {form} form; the file has those of the {other} form already")
    told = f"; {_some(wrong)}" if wrong else ""
    raise ScanifyError(
        f"expected the {len(expected)} leaves that the {form} form of the given tree has, got {len(arrays)}{told}"
    )


def _fits(array: SavedArray, outline: _Outline) -> bool:
    _, shape, dtype = outline
    if array.shape != shape:
        return False
    if isinstance(dtype, type):  # a Python number, stored as an array
        return numpy_dtype(array.dtype).kind in _KINDS[dtype]
    # In NumPy's format, dtypes of ml_dtypes are raw bytes.
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    return numpy_dtype(array.dtype) == numpy_dtype(descr)


def _text(outline: _Outline) -> str:
    _, shape, dtype = outline
    return f"{dtype.__name__ if isinstance(dtype, type) else np.dtype(dtype).name}[{','.join(map(str, shape))}]"


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more
