"""The locations of the lines of a lowered program: the stack of Python frames that traced each operation.

MLIR writes locations by name (`#loc7 = loc(callsite(#loc6 at #loc5))`, https://mlir.llvm.org/docs/Dialects/Builtin/,
"Location Attributes"), and jax builds them from frames outside of jax (`jax_traceback_in_locations_limit`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_AT_END = re.compile(r"loc\((#loc\d*)\)\s*$")
_FUNCTION = re.compile(r"\s*func\.func \w+ @([^(]+)\(")
_NUMBER = re.compile(r"_\d+$")
_FILE = re.compile(r'^"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_NAMED = re.compile(r'^"(?:[^"\\]|\\.)*"\((#loc\d*)\)$')
_CALL = re.compile(r"^callsite\((#loc\d*) at (#loc\d*)\)$")
_FUSED = re.compile(r"^fused(?:<.*>)?\[(#loc\d*)")

# The share of a program from which a function belongs to its trunk.
_TRUNK = 0.2


@dataclass(frozen=True)
class Frame:
    """A place in a file: the line counts from 1, the column from 0, as in `ast`."""

    file: str
    line: int
    column: int


Frames = tuple[Frame, ...]


@dataclass(frozen=True)
class Origin:
    """The number of lines of a program with one location, how often it was traced, and its frames, outermost first.

    `shared`: the lines are in a function of the program that all calls share.
    """

    frames: Frames
    lines: int
    repeats: int
    shared: bool = False


@dataclass(eq=False)
class _Locations:
    """The locations of a program by name, and the computed frames."""

    definitions: dict[str, str]
    known: dict[str, Frames] = field(default_factory=dict)

    def frames(self, name: str) -> Frames:
        """Return the frames of a location, outermost first; none if jax knows no source."""
        pending = [name]
        while pending:
            current = pending[-1]
            text = self.definitions.get(current, "")
            parts = self._parts(text)
            missing = [part for part in parts if part not in self.known and part not in pending]
            if missing:
                pending += missing
                continue
            pending.pop()
            place = _FILE.match(text)
            if place is not None:
                self.known[current] = (Frame(place[1], int(place[2]), int(place[3])),)
            else:
                self.known[current] = tuple(frame for part in parts for frame in self.known.get(part, ()))
        return self.known[name]

    def _parts(self, text: str) -> list[str]:
        """Return the locations that make up a location, the outermost frames first."""
        called = _CALL.match(text)
        if called is not None:
            return [called[2], called[1]]
        inner = _NAMED.match(text) or _FUSED.match(text)
        return [inner[1]] if inner is not None else []


def origins(text: str) -> list[Origin]:
    """Return the locations of a program's lines; `text` is its StableHLO with debug information, which is not counted.

    A line without a location, such as a bracket, counts with the line before it.
    """
    definitions: dict[str, str] = {}
    counts: dict[str, Counter[str]] = {}
    current = function = ""
    for line in text.splitlines():
        defined = _DEFINITION.match(line)
        if defined is not None:
            definitions[defined[1]] = defined[2]
            continue
        opened = _FUNCTION.match(line)
        if opened is not None:
            function, current = opened[1], ""
        found = _AT_END.search(line)
        current = found[1] if found is not None else current
        counts.setdefault(function, Counter())[current] += 1
    locations = _Locations(definitions)
    return [
        Origin(locations.frames(name), lines, repeats, shared)
        for name, lines, repeats, shared in (each for group in _groups(counts) for each in _repeats(*group))
    ]


def _groups(counts: dict[str, Counter[str]]) -> list[tuple[bool, list[Counter[str]]]]:
    """Return the lines by location of functions, grouped by copies, and whether a group is the trunk.

    jax lowers a jitted function once for all of its calls, or once for each, as `f`, `f_0`, `f_1`. The trunk are
    `main`, and a function that makes up much of the program, such as a model that is jitted as a whole.
    """
    total = sum(each.total() for each in counts.values())
    trunk = [name for name, each in counts.items() if name in ("", "main") or each.total() >= _TRUNK * total]
    copies: dict[str, list[Counter[str]]] = {}
    for name, each in counts.items():
        if name not in trunk:
            copies.setdefault(_NUMBER.sub("", name), []).append(each)
    return [*((True, [counts[name]]) for name in trunk), *((False, each) for each in copies.values())]


def _repeats(trunk: bool, copies: list[Counter[str]]) -> Iterator[tuple[str, int, int, bool]]:
    """Yield each location with its lines, how often it was traced, and whether all calls share them."""
    lines = sum(copies, Counter[str]())
    for name in lines:
        inside = sum(name in each for each in copies)
        yield name, lines[name], lines[name] if trunk else inside, not trunk and inside == 1
