"""Where the lines of a lowered program come from: the stack of Python frames at which each operation was traced.

MLIR writes locations by name (`#loc7 = loc(callsite(#loc6 at #loc5))`, https://mlir.llvm.org/docs/Dialects/Builtin/,
"Location Attributes"), and jax makes them of the frames that are not its own (`jax_traceback_in_locations_limit`).
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

# The part of a program from which on a function is one of those that it mainly consists of.
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
    """How many lines of a program have one location, how often it was traced, and its frames, the outermost first.

    `shared`: the lines stand in a function of the program that every call has in common.
    """

    frames: Frames
    lines: int
    repeats: int
    shared: bool = False


@dataclass(eq=False)
class _Locations:
    """The locations of a program by name, and the frames of those that were asked for."""

    definitions: dict[str, str]
    known: dict[str, Frames] = field(default_factory=dict)

    def frames(self, name: str) -> Frames:
        """The frames of a location, the outermost first; none for one that jax knows no source of."""
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
        """The locations that one is made of, the outermost frames first."""
        called = _CALL.match(text)
        if called is not None:
            return [called[2], called[1]]
        inner = _NAMED.match(text) or _FUSED.match(text)
        return [inner[1]] if inner is not None else []


def origins(text: str) -> list[Origin]:
    """The locations of a program's lines; `text` is its StableHLO with debug information, whose own lines do not count.

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
    """The lines by location of functions, those that are copies of one another together, and whether it is the trunk.

    jax lowers a function that is jitted once for all of its calls, or once for each, as `f`, `f_0`, `f_1`. The trunk
    are `main`, and a function that makes much of the program, such as a model that is jitted as a whole.
    """
    total = sum(each.total() for each in counts.values())
    trunk = [name for name, each in counts.items() if name in ("", "main") or each.total() >= _TRUNK * total]
    copies: dict[str, list[Counter[str]]] = {}
    for name, each in counts.items():
        if name not in trunk:
            copies.setdefault(_NUMBER.sub("", name), []).append(each)
    return [*((True, [counts[name]]) for name in trunk), *((False, each) for each in copies.values())]


def _repeats(trunk: bool, copies: list[Counter[str]]) -> Iterator[tuple[str, int, int, bool]]:
    """Each location with its lines, how often it was traced, and whether all calls share them."""
    lines = sum(copies, Counter[str]())
    for name in lines:
        inside = sum(name in each for each in copies)
        yield name, lines[name], lines[name] if trunk else inside, not trunk and inside == 1
