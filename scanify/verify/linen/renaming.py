"""The renaming of modules between a Linen model with a loop and one with a scan: `layer_0`, `layer_1`, ... to `layers`.

All collections of variables have the names of the modules, so one renaming applies to parameters, statistics, caches
and sown values alike; and a random stream is identified by the path of the module that draws from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Path = tuple[str, ...]
OPEN = "{}"


@dataclass(frozen=True)
class Family:
    """Modules whose names differ in a number alone, and the module that stacks their variables.

    `before` is the path of the modules with OPEN for the number, also in an enclosing family; `after` is the path of
    the stacked module, which may be deeper: a handwritten scan may have a class around the layer. `lead` is the shape
    of the axes in front: (4,) for four modules.
    """

    before: Path
    after: Path
    first: int
    lead: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.lead)

    def __str__(self) -> str:
        *outer, last = self.before
        names = [last.replace(OPEN, str(n)) for n in (self.first, self.first + self.count - 1)]
        return ".".join([*(part.replace(OPEN, "*") for part in outer), f"{names[0]}..{names[1]}"])


@dataclass(frozen=True)
class Step:
    """One part of a path: its names after the renaming, and the index in its family, if any.

    There are several names if the module is deeper after the renaming. `number` is the one in its old name.
    """

    names: Path
    lead: tuple[int, ...] = ()
    index: int = 0
    number: int = 0


@dataclass(frozen=True)
class Renaming:
    """The families of a model, outer ones first, and other renamed modules, `(before, after)`."""

    families: tuple[Family, ...] = ()
    moved: tuple[tuple[Path, Path], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.families or self.moved)

    def steps(self, path: Path) -> tuple[Step, ...]:
        """Return the steps for all parts of a module path."""
        return tuple(self.step(path[: at + 1]) for at in range(len(path)))

    def step(self, path: Path) -> Step:
        """Return the step for the last part of a module path."""
        if path not in self._known:
            self._known[path] = self._step(path)
        return self._known[path]

    @cached_property
    def _known(self) -> dict[Path, Step]:
        return {}

    def _step(self, path: Path) -> Step:
        for family in self.families:
            if len(family.before) == len(path) and all(map(fits, family.before[:-1], path[:-1])):
                number = number_in(family.before[-1], path[-1])
                if number is not None and 0 <= number - family.first < family.count:
                    names = family.after[len(path) - 1 :]
                    return Step(names, family.lead, number - family.first, number)
        for before, after in self.moved:
            if len(before) == len(path) and all(map(fits, before, path)):
                return Step(after[len(path) - 1 :])
        return Step(path[-1:])


def names_of(steps: Sequence[Step]) -> Path:
    """Return the path after the renaming."""
    return tuple(name for step in steps for name in step.names)


def fits(pattern: str, name: str) -> bool:
    """True if a part of a path matches the pattern."""
    return pattern == name or number_in(pattern, name) is not None


def number_in(pattern: str, name: str) -> int | None:
    """Return the number in a name; None if the pattern does not match."""
    head, is_open, tail = pattern.partition(OPEN)
    match = re.fullmatch(rf"{re.escape(head)}(0|[1-9]\d*){re.escape(tail)}", name) if is_open else None
    return None if match is None else int(match[1])


def is_dict(value: Any) -> bool:
    """True for a dict or a FrozenDict, by their interface: flax is not imported here."""
    return isinstance(value, Mapping)


def entries(tree: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """Return the values in nested dicts, by the path of their keys, in flattening order."""
    if not is_dict(tree):
        return [(path, tree)]
    return [each for name in sorted(tree) for each in entries(tree[name], (*path, str(name)))]


@dataclass(frozen=True)
class Place:
    """The destination of an entry of a collection: the new path, its row there, and the shape of all rows."""

    path: Path
    row: int = 0
    lead: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        return math.prod(self.lead)


def place_of(renaming: Renaming, path: Path) -> Place:
    """Return the place of an entry of a collection; the last name of its path is the variable."""
    steps = renaming.steps(path[:-1])
    lead = tuple(size for step in steps for size in step.lead)
    at = [int(i) for step in steps if step.lead for i in np.unravel_index(step.index, step.lead)]
    row = int(np.ravel_multi_index(at, lead)) if lead else 0
    return Place((*names_of(steps), *path[-1:]), row, lead)


def gathered(renaming: Renaming, found: Sequence[tuple[Path, Any]]) -> dict[Path, tuple[tuple[int, ...], list[Any]]]:
    """Group the entries of a collection by their new paths, with the shape of their rows.

    An entry that lacks rows, or has one twice, is unchanged.
    """
    rows: dict[Path, dict[int, tuple[Path, Any]]] = {}
    leads: dict[Path, set[tuple[int, ...]]] = {}
    twice: set[Path] = set()
    for path, value in found:
        place = place_of(renaming, path)
        held = rows.setdefault(place.path, {})
        twice |= {place.path} if place.row in held else set()
        held.setdefault(place.row, (path, value))
        leads.setdefault(place.path, set()).add(place.lead)
    made: dict[Path, tuple[tuple[int, ...], list[Any]]] = {}
    for path, held in rows.items():
        lead = next(iter(leads[path]))
        if path in twice or len(leads[path]) > 1 or len(held) != math.prod(lead):
            made |= {old: ((), [value]) for old, value in found if place_of(renaming, old).path == path}
        else:
            made[path] = lead, [held[row][1] for row in range(len(held))]
    return made


def nested(values: Mapping[Path, Any]) -> Any:
    """Nest the dicts again, by the paths of their entries."""
    if set(values) == {()}:
        return values[()]
    inner: dict[str, dict[Path, Any]] = {}
    for path, value in values.items():
        inner.setdefault(path[0], {})[path[1:]] = value
    return {name: nested(each) for name, each in inner.items()}
