"""From the names of a list of layers, `layers.3.attn.weight`, to those of a stack, `layers.attn.weight`, and back.

Layers may also have their number in a name, as modules of Flax Linen have: `layer_3.attn.kernel` is one of `layer_{}`.

Nothing but names, shapes and dtypes is looked at. Where a part of what is expected is missing, nothing is converted.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scanify.checkpoints.saved_array import EMPTY, SavedArray, chunks_of, layer_of, stack
from scanify.errors import ScanifyError

_SHOWN = 5  # names in a message
_INDEX = re.compile(r"[./](?P<plain>\d+)(?=[./\[]|$)|\[(?P<bracketed>\d+)\]")
_BEGINS = re.compile(r"[./\[]")
_OPEN = re.compile(r"\{(\d*)\}")


@dataclass(frozen=True)
class Prefix:
    """What the names of a list, or of a stack, begin with, and what is to stand there instead.

    `anywhere`: whatever stands before it, as in `*layers` for `model.layers`, `opt.0.mu.layers` and others. A list
    whose layers have their number in their names has `{}` there, or the number of the first one, `{1}`.
    """

    text: str
    becomes: str
    anywhere: bool = False

    @staticmethod
    def parse(written: str) -> "Prefix":
        """`layers`, `layers=layers.stacked`, `*layers`, `*layers=*layers.stacked`. Raises ScanifyError otherwise."""
        text, equals, becomes = written.partition("=")
        becomes = becomes if equals else text
        anywhere = text.startswith("*")
        if anywhere != becomes.startswith("*") or not text.strip("*") or not becomes.strip("*"):
            raise ScanifyError(
                "expected what the names begin with, as in `layers`, `layers=layers.stacked` or `*layers=*stack` (with "
                f"anything before it, on both sides of the sign); got {written!r}"
            )
        if any(len(_OPEN.findall(each)) > 1 for each in (text, becomes)) or (not equals and _OPEN.search(text)):
            raise ScanifyError(
                "expected the number of layers in one place, `{}`, and another name for the stack, as in "
                f"`layer_{{}}=layers`; got {written!r}"
            )
        return Prefix(text[anywhere:], becomes[anywhere:], anywhere)

    def split(self, name: str) -> tuple[str, str, str] | None:
        """`(what stands before, the prefix with it, the rest)` of a name that begins so, None for any other."""
        before = f"(?P<before>.*?{_boundary(self.text)})" if self.anywhere else "(?P<before>)"
        found = re.match(rf"{before}{re.escape(self.text)}(?P<rest>$|[./\[].*)", name, re.DOTALL)
        if found is None:
            return None
        return found["before"], f"{found['before']}{self.text}", found["rest"]

    def numbered(self, name: str) -> tuple[str, str, int | None, str] | None:
        """`(what stands before, the prefix with it, the number of the layer, the rest)` of a name that begins so.

        The number is None where the name is of no layer. None for any other name.
        """
        opened = _OPEN.search(self.text)
        if opened is None:
            split = self.split(name)
            index = None if split is None else _INDEX.match(split[2])
            if split is None or index is None:
                return None if split is None else (split[0], split[1], None, split[2])
            return split[0], split[1], int(index["plain"] or index["bracketed"]), split[2][index.end() :]
        head, tail = (re.escape(part) for part in (self.text[: opened.start()], self.text[opened.end() :]))
        before = f"(?P<before>.*?{_boundary(self.text)})" if self.anywhere else "(?P<before>)"
        found = re.match(rf"{before}{head}(?P<number>0|[1-9]\d*){tail}(?P<rest>$|[./\[].*)", name, re.DOTALL)
        if found is None:
            return None
        number = int(found["number"]) - int(opened[1] or 0)
        return found["before"], f"{found['before']}{self.text}", number, found["rest"]

    def layer_named(self, before: str, index: int, rest: str) -> str:
        """The name of an array of a layer, where this is the prefix of the stack that it comes out of."""
        opened = _OPEN.search(self.becomes)
        if opened is None:
            head = f"{before}{self.becomes}"
            return f"{head}{_index_text(index, head, rest)}{rest}"
        number = index + int(opened[1] or 0)
        return f"{before}{self.becomes[: opened.start()]}{number}{self.becomes[opened.end() :]}{rest}"

    def __str__(self) -> str:
        return f"{'*' if self.anywhere else ''}{self.text}"


def _boundary(text: str) -> str:
    """What keeps `layers` from being found in `players`."""
    return r"(?<!\w)" if re.match(r"\w", text) else ""


def stack_names(arrays: Sequence[SavedArray], prefix: Prefix, *, nested: bool = False) -> list[SavedArray]:
    """The arrays with those under `prefix` stacked: one for each array of a layer, in the place of the first layer's.

    Where stacks are `nested`, they have two axes in front, chunks and layers of a chunk.

    Raises ScanifyError where no name begins so, where a layer or an array of one is missing, where names under the
    prefix belong to no layer, where layers differ in shape or dtype, and where two arrays would have one name.
    """
    lists = _lists(arrays, prefix)
    made: dict[str, SavedArray] = {}
    for found in lists:
        made |= found.stacked(prefix, nested=nested)
    taken = {each.name for found in lists for each in found.arrays()}
    return _checked([made.get(one.name, one) for one in arrays if _stays(one.name, taken, made)])


def unstack_names(arrays: Sequence[SavedArray], prefix: Prefix, *, nested: bool = False) -> list[SavedArray]:
    """The arrays with each of those under `prefix` taken apart along its first axis, the inverse of `stack_names`.

    Raises ScanifyError where no name begins so, where they do not all have the same number of layers along their first
    axis, where they are numbered already, and where two arrays would have one name.
    """
    groups: dict[str, list[tuple[SavedArray, str, str]]] = {}
    for array in arrays:
        split = prefix.split(array.name)
        if split is not None:
            flat = _without_chunks(array) if nested else array
            groups.setdefault(split[1], []).append((flat, split[0], split[2]))
    if not groups:
        raise _none_begins(arrays, prefix)
    apart: dict[str, list[SavedArray]] = {}
    for base, members in groups.items():
        numbered = () if _OPEN.search(prefix.becomes) else [rest for _, _, rest in members]
        count = _count(base, [array for array, _, _ in members], numbered)
        for array, before, rest in members:
            names = [prefix.layer_named(before, index, rest) for index in range(count)]
            apart[array.name] = [layer_of(array, index, name) for index, name in enumerate(names)]
    return _checked([each for array in arrays for each in apart.get(array.name, [array])])


@dataclass
class _List:
    """The arrays of one list of layers: by what follows the number, then by number."""

    base: str
    before: str
    layers: dict[str, dict[int, SavedArray]]

    def arrays(self) -> Iterable[SavedArray]:
        return (array for column in self.layers.values() for array in column.values())

    def stacked(self, prefix: Prefix, *, nested: bool) -> dict[str, SavedArray]:
        """The stacked arrays, each by the name of the first layer's."""
        numbers = {number for column in self.layers.values() for number in column}
        count = max(numbers) + 1
        if min(numbers) < 0:
            early = next(array.name for column in self.layers.values() for at, array in column.items() if at < 0)
            raise ScanifyError(f"expected the first layer under {self.base!r} to have that number; there is {early!r}")
        without = [number for number in range(count) if number not in numbers]
        if without:
            raise ScanifyError(
                f"expected layers 0 to {count - 1} under {self.base!r}, as there is a layer {count - 1}; "
                f"there is no array of {'layer' if len(without) == 1 else 'layers'} {_some(map(str, without))}"
            )
        missing = [
            _like(column, number) for column in self.layers.values() for number in range(count) if number not in column
        ]
        if missing:
            raise ScanifyError(
                f"expected each of the {count} layers under {self.base!r} to have the same arrays; "
                f"{len(missing)} are missing: {_some(map(repr, missing))}"
            )
        made = {}
        for rest, column in self.layers.items():
            layers = [column[number] for number in range(count)]
            made[layers[0].name] = stack(f"{self.before}{prefix.becomes}{rest}", layers, nested=nested)
        return made


def _lists(arrays: Sequence[SavedArray], prefix: Prefix) -> list[_List]:
    found: dict[str, _List] = {}
    strangers = []
    for array in arrays:
        numbered = prefix.numbered(array.name)
        if numbered is None:
            continue
        before, base, number, rest = numbered
        if number is None:
            strangers.append(array.name)
            continue
        column = found.setdefault(base, _List(base, before, {})).layers.setdefault(rest, {})
        if number in column:
            raise ScanifyError(f"two arrays are of layer {number}: {column[number].name!r} and {array.name!r}")
        column[number] = array
    if not found:
        if strangers:
            raise ScanifyError(
                f"expected numbered layers under {str(prefix)!r}, such as {_example(strangers[0], prefix)!r}; got "
                f"{_some(map(repr, strangers))}. Stacks are taken apart with --unstack"
            )
        raise _none_begins(arrays, prefix)
    if strangers:
        raise ScanifyError(
            f"expected every name under {str(prefix)!r} to be of a numbered layer; {len(strangers)} are not: "
            f"{_some(map(repr, strangers))}"
        )
    return list(found.values())


def _without_chunks(array: SavedArray) -> SavedArray:
    """A nested stack as one with all layers along its first axis."""
    if array.dtype == EMPTY:
        return array
    if len(array.shape) < 2 or array.shape[:2] != chunks_of(max(array.shape[0] * array.shape[1], 1)):
        raise ScanifyError(
            f"expected nested stacks, with chunks along their first axis and layers of a chunk, about as many, along "
            f"their second; {array.name!r} is {array.kind}"
        )
    return replace(array, shape=(array.shape[0] * array.shape[1], *array.shape[2:]))


def _count(base: str, arrays: Sequence[SavedArray], rests: Sequence[str]) -> int:
    numbered = [array.name for array, rest in zip(arrays, rests, strict=False) if _INDEX.match(rest)]
    if numbered:
        raise ScanifyError(
            f"expected stacked arrays under {base!r}, which have no number; got {_some(map(repr, numbered))}. "
            "Layers are stacked with --stack"
        )
    arrays = [array for array in arrays if array.dtype != EMPTY]
    if not arrays:
        raise ScanifyError(
            f"expected arrays under {base!r}, got None alone, of which the number of layers is not known"
        )
    first = arrays[0]
    for array in arrays:
        if not array.shape or not first.shape or array.shape[0] != first.shape[0]:
            raise ScanifyError(
                f"expected the arrays under {base!r} to have the same number of layers along their first axis; "
                f"{first.name!r} is {first.kind} and {array.name!r} is {array.kind}"
            )
    if first.shape[0] == 0:
        raise ScanifyError(f"expected at least one layer along the first axis of {first.name!r}, which is {first.kind}")
    return first.shape[0]


def _index_text(index: int, head: str, rest: str) -> str:
    """A layer's number in the manner of the names around it: `.layers[3].w`, `layers/3/w`, `layers.3.w`."""
    if head[0] in ".[":
        return f"[{index}]"
    return f"/{index}" if "/" in (rest[:1], *head) else f".{index}"


def _stays(name: str, taken: set[str], made: dict[str, SavedArray]) -> bool:
    return name in made or name not in taken


def _checked(arrays: list[SavedArray]) -> list[SavedArray]:
    seen: dict[str, SavedArray] = {}
    for array in arrays:
        other = seen.setdefault(array.name, array)
        if other is not array:
            raise ScanifyError(f"two arrays would have the name {array.name!r}: {other.kind} and {array.kind}")
    return arrays


def _like(column: dict[int, SavedArray], number: int) -> str:
    """The name that an array of another layer would have."""
    other, array = next(iter(column.items()))
    places = [found for found in _INDEX.finditer(array.name) if int(found["plain"] or found["bracketed"]) == other]
    if not places:
        return array.name
    group = "plain" if places[0]["plain"] else "bracketed"
    return f"{array.name[: places[0].start(group)]}{number}{array.name[places[0].end(group) :]}"


def _example(name: str, prefix: Prefix) -> str:
    split = prefix.split(name)
    assert split is not None
    return f"{split[1]}{_index_text(0, split[1], split[2])}{split[2]}"


def _none_begins(arrays: Sequence[SavedArray], prefix: Prefix) -> ScanifyError:
    names = [array.name for array in arrays]
    number = _OPEN.sub(r"\\d+", re.escape(prefix.text).replace(r"\{", "{").replace(r"\}", "}"))
    text = rf"(.*{_boundary(prefix.text)}{number})(?=[./\[]|$)"
    inner = [re.match(text, name, re.DOTALL) for name in names]
    elsewhere = dict.fromkeys(found[1] for found in inner if found is not None)
    if elsewhere:
        hint = f"; there is {_some(map(repr, elsewhere))}, and `*{prefix.text}` means them all"
    else:
        begins = dict.fromkeys(_BEGINS.split(name.lstrip("."))[0] for name in names)
        hint = f"; they begin with {_some(map(repr, begins))}" if begins else "; there is no array in the file"
    return ScanifyError(f"no name begins with {str(prefix)!r}{hint}")


def _some(texts: Iterable[str]) -> str:
    listed = list(texts)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
