"""Convert names of a list of layers, `layers.3.attn.weight`, to names of a stack, `layers.attn.weight`, and back.

The number of a layer may also be part of a name, as in Flax Linen: `layer_3.attn.kernel` belongs to `layer_{}`. Only
names, shapes and dtypes are read. If any expected array is missing, nothing is converted.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from scanify.checkpoints.saved_array import EMPTY, SavedArray, apart, chunks_of, stack
from scanify.errors import ScanifyError

_SHOWN = 5  # the number of names in a message
_INDEX = re.compile(r"[./](?P<plain>\d+)(?=[./\[]|$)|\[(?P<bracketed>\d+)\]")
_BEGINS = re.compile(r"[./\[]")
_OPEN = re.compile(r"\{(\d*)\}")


@dataclass(frozen=True)
class Prefix:
    """The prefix of the names of a list or stack, and its replacement.

    With `anywhere`, anything may precede it: `*layers` matches `model.layers`, `opt.0.mu.layers` and others. A list
    whose layers have their number in their names is written with `{}`, or with the number of the first one, `{1}`.
    """

    text: str
    becomes: str
    anywhere: bool = False

    @staticmethod
    def parse(written: str) -> "Prefix":
        """Parse `layers`, `layers=layers.stacked`, `*layers` or `*layers=*stack`. Raises ScanifyError otherwise."""
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
        """Split a name into `(the part before, that part with the prefix, the rest)`; None if it does not match."""
        before = f"(?P<before>.*?{_boundary(self.text)})" if self.anywhere else "(?P<before>)"
        found = re.match(rf"{before}{re.escape(self.text)}(?P<rest>$|[./\[].*)", name, re.DOTALL)
        if found is None:
            return None
        return found["before"], f"{found['before']}{self.text}", found["rest"]

    def numbered(self, name: str) -> tuple[str, str, int | None, str] | None:
        """Split a name into `(the part before, that part with the prefix, the layer's number, the rest)`.

        The number is None if the name belongs to no layer. None if the name does not match.
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
        """Return the name of an array of a layer that is taken out of a stack."""
        opened = _OPEN.search(self.becomes)
        if opened is None:
            head = f"{before}{self.becomes}"
            return f"{head}{_index_text(index, head, rest)}{rest}"
        number = index + int(opened[1] or 0)
        return f"{before}{self.becomes[: opened.start()]}{number}{self.becomes[opened.end() :]}{rest}"

    def __str__(self) -> str:
        return f"{'*' if self.anywhere else ''}{self.text}"


def _boundary(text: str) -> str:
    """Return a pattern that keeps `layers` from matching in `players`."""
    return r"(?<!\w)" if re.match(r"\w", text) else ""


@dataclass(frozen=True)
class Group:
    """The name of a stacked array and the names of its layers' arrays, which lie along `axes` of sizes `counts`.

    `rest` is the part of the names after the layer's number.
    """

    whole: str
    layers: tuple[str, ...]
    axes: tuple[int, ...]
    counts: tuple[int, ...]
    rest: str


def stack_names(
    arrays: Sequence[SavedArray], prefix: Prefix, axis: int = 0, *, nested: bool = False
) -> list[SavedArray]:
    """Stack the arrays under `prefix` along an axis, each stack in the place of the first layer's array.

    Raises the errors of `layers_under` and `joined`.
    """
    return joined(arrays, layers_under(arrays, prefix, axis, nested=nested))


def unstack_names(
    arrays: Sequence[SavedArray], prefix: Prefix, axis: int = 0, *, nested: bool = False
) -> list[SavedArray]:
    """Unstack the arrays under `prefix` along an axis: the inverse of `stack_names`.

    Raises the errors of `stacks_under` and `taken_apart`.
    """
    return taken_apart(arrays, stacks_under(arrays, prefix, axis, nested=nested))


def layers_under(arrays: Sequence[SavedArray], prefix: Prefix, axis: int = 0, *, nested: bool = False) -> list[Group]:
    """Return the groups of layer arrays under `prefix`, to be stacked along an axis.

    With `nested`, stacks have two axes for layers, chunks and layers of a chunk. Raises ScanifyError if no name
    matches, if a layer or one of its arrays is missing, or if names under the prefix belong to no layer.
    """
    return [group for found in _lists(arrays, prefix) for group in found.groups(prefix, axis, nested=nested)]


def stacks_under(arrays: Sequence[SavedArray], prefix: Prefix, axis: int = 0, *, nested: bool = False) -> list[Group]:
    """Return the groups of the stacked arrays under `prefix`, to be unstacked along an axis.

    Raises ScanifyError if no name matches, if the arrays differ in their number of layers, or if they are numbered
    already.
    """
    found: dict[str, list[tuple[SavedArray, str, str]]] = {}
    for array in arrays:
        split = prefix.split(array.name)
        if split is not None:
            found.setdefault(split[1], []).append((array, split[0], split[2]))
    if not found:
        raise _none_begins(arrays, prefix)
    groups = []
    for base, members in found.items():
        numbered = () if _OPEN.search(prefix.becomes) else [rest for _, _, rest in members]
        axes, counts = _count(base, [array for array, _, _ in members], numbered, axis, nested=nested)
        for array, before, rest in members:
            names = [prefix.layer_named(before, index, rest) for index in range(prod(counts))]
            groups.append(Group(array.name, tuple(names), axes, counts, rest))
    return groups


def joined(arrays: Sequence[SavedArray], groups: Sequence[Group]) -> list[SavedArray]:
    """Stack the arrays of each group; the stack takes the place of the first layer's array.

    Raises ScanifyError if layers differ in shape or dtype, or if two arrays would have the same name.
    """
    named = {array.name: array for array in arrays}
    made = {
        each.layers[0]: stack(each.whole, [named[name] for name in each.layers], each.counts, each.axes)
        for each in groups
    }
    taken = {name for group in groups for name in group.layers}
    return _checked([made.get(each.name, each) for each in arrays if each.name in made or each.name not in taken])


def taken_apart(arrays: Sequence[SavedArray], groups: Sequence[Group]) -> list[SavedArray]:
    """Unstack the array of each group: the inverse of `joined`.

    Raises ScanifyError if two arrays would have the same name.
    """
    known = {group.whole: group for group in groups}
    return _checked(
        [
            each
            for array in arrays
            for each in (
                apart(array, known[array.name].layers, known[array.name].axes) if array.name in known else [array]
            )
        ]
    )


def demand_axis(arrays: Sequence[SavedArray], groups: Sequence[Group], prefix: Prefix, *, stacks: bool) -> None:
    """Raise ScanifyError unless axis 0 must be the layer axis.

    It must be if the arrays of a layer have no axes except those stacked in an earlier step.
    """
    named = {array.name: array for array in arrays}
    used = [named[name] for group in groups for name in (group.layers if stacks else [group.whole])]
    behind = 0 if stacks else len(groups[0].axes)
    open_ones = [each for each in used if not each.known and each.dtype != EMPTY and len(each.shape) > behind]
    if open_ones:
        raise ScanifyError(
            f"{open_ones[0].name!r} under {str(prefix)!r} is {open_ones[0].kind}: it may have an axis of the members "
            "of an ensemble (a constructor mapped by `equinox.filter_vmap`), behind which a stack has its layers; "
            "names do not tell. Give the axis of the layers in the stack: --axis 0 if there is no ensemble, --axis 1 "
            "if there is"
        )


def demand_order(groups: Sequence[Group], last: dict[str, tuple[bool, str]], prefix: Prefix, *, stacks: bool) -> None:
    """Raise ScanifyError if an earlier step leaves the layers of a group behind another layer axis.

    `last` maps the name of each array made by a step to whether it was stacked and to the part of the name after the
    layer's number; the arrays of this step are added.
    """
    for group in groups:
        for name in group.layers if stacks else (group.whole,):
            stacked, rest = last.pop(name, (stacks, None))
            if rest is not None and (stacked != stacks or (len(group.rest) > len(rest)) != stacks):
                raise ScanifyError(
                    f"{name!r} under {str(prefix)!r} is what an earlier option made, and the axes of its layers would "
                    "be mistaken for one another. Of lists in one another, name the inner one first with --stack, the "
                    "outer one first with --unstack; --stack and --unstack take a command each, --unstack first"
                )
        last.update(dict.fromkeys((group.whole,) if stacks else group.layers, (stacks, group.rest)))


@dataclass
class _List:
    """The arrays of one list of layers, by the part of the name after the number, then by number."""

    base: str
    before: str
    layers: dict[str, dict[int, SavedArray]]

    def groups(self, prefix: Prefix, axis: int, *, nested: bool) -> list[Group]:
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
        counts = chunks_of(count) if nested else (count,)
        axes = tuple(range(axis, axis + len(counts)))
        return [
            Group(
                f"{self.before}{prefix.becomes}{rest}",
                tuple(column[number].name for number in range(count)),
                axes,
                counts,
                rest,
            )
            for rest, column in self.layers.items()
        ]


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


def _count(
    base: str, arrays: Sequence[SavedArray], rests: Sequence[str], axis: int, *, nested: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the layer axes and their sizes."""
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
    axes = (axis, axis + 1) if nested else (axis,)
    counts = [array.shape[axis : axis + len(axes)] for array in arrays]
    for array, count in zip(arrays, counts, strict=True):
        if nested and count != chunks_of(max(prod(count), 1)):
            raise ScanifyError(
                f"expected nested stacks, with chunks along axis {axis} and layers of a chunk, about as many, along "
                f"axis {axis + 1}; {array.name!r} is {array.kind}"
            )
        if len(count) < len(axes) or count != counts[0]:
            raise ScanifyError(
                f"expected the arrays under {base!r} to have the same number of layers along axis {axis}; "
                f"{first.name!r} is {first.kind} and {array.name!r} is {array.kind}"
            )
    if not prod(counts[0]):
        raise ScanifyError(f"expected at least one layer along axis {axis} of {first.name!r}, which is {first.kind}")
    return axes, counts[0]


def _index_text(index: int, head: str, rest: str) -> str:
    """Format a layer's number like the surrounding names: `.layers[3].w`, `layers/3/w`, `layers.3.w`."""
    if head[0] in ".[":
        return f"[{index}]"
    return f"/{index}" if "/" in (rest[:1], *head) else f".{index}"


def _checked(arrays: list[SavedArray]) -> list[SavedArray]:
    seen: dict[str, SavedArray] = {}
    for array in arrays:
        other = seen.setdefault(array.name, array)
        if other is not array:
            raise ScanifyError(f"two arrays would have the name {array.name!r}: {other.kind} and {array.kind}")
    return arrays


def _like(column: dict[int, SavedArray], number: int) -> str:
    """Return the name that an array of another layer would have."""
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
