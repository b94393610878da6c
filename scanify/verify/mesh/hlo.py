"""The collectives of a compiled program, read from the text of its HLO."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scanify.verify.mesh.on_mesh import Collective

KINDS = ("all-gather", "all-reduce", "reduce-scatter", "collective-permute", "all-to-all", "ragged-all-to-all")

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) (?:\(.*)?\{\s*$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = (.*?) ([a-z][\w-]*)\((.*)$")
_CALLED = re.compile(
    r"\b(?:to_apply|calls|body|condition|branch_computations|called_computations)=(\{[^}]*\}|%?[\w.-]+)"
)
_BRANCH = re.compile(r"\b(?:true_computation|false_computation)=%?([\w.-]+)")
_TURNS = re.compile(r'"?known_trip_count"?\s*:\s*\{\s*"?n"?\s*:\s*"?(\d+)"?')
_ARRAY = re.compile(r"\b(pred|[a-z]+(\d+)[a-z0-9]*)\[([\d,]*)\]")


@dataclass(frozen=True)
class Exchanged:
    """The collectives of one run. `unknown_turns`: some are in a loop of unknown length."""

    collectives: tuple[Collective, ...]
    unknown_turns: bool = False


def exchanged(text: str) -> Exchanged:
    """Return the collectives in one run of a program. Of a conditional's branches, the most expensive one counts."""
    computations, entry = _read(text)
    total = _Total()
    if entry is not None:
        total = _Counted(computations).of(entry)
    found = (Collective(kind, *total.moved[kind]) for kind in KINDS if kind in total.moved)
    return Exchanged(tuple(found), total.unknown)


@dataclass(frozen=True)
class _Instruction:
    kind: str
    bytes: int
    called: tuple[str, ...]
    turns: int | None


@dataclass(frozen=True)
class _Total:
    """The number of operations and their bytes, by the kind of collective."""

    moved: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unknown: bool = False

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.moved.values())

    def times(self, turns: int | None) -> "_Total":
        if turns is None:
            return _Total(self.moved, self.unknown or bool(self.moved))
        return _Total({kind: (turns * n, turns * size) for kind, (n, size) in self.moved.items()}, self.unknown)


class _Counted:
    """The collectives of each computation, including those that it calls."""

    def __init__(self, computations: Mapping[str, list[_Instruction]]) -> None:
        self.computations = computations
        self.known: dict[str, _Total] = {}

    def of(self, name: str) -> _Total:
        if name not in self.known:
            self.known[name] = self._sum(self.computations.get(name, []))
        return self.known[name]

    def _sum(self, instructions: list[_Instruction]) -> _Total:
        moved: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        unknown = False
        for each in instructions:
            for part in self._parts(each):
                unknown = unknown or part.unknown
                for kind, (count, size) in part.moved.items():
                    moved[kind] = (moved[kind][0] + count, moved[kind][1] + size)
        return _Total(dict(moved), unknown)

    def _parts(self, each: _Instruction) -> Iterator[_Total]:
        if each.kind in KINDS:
            yield _Total({each.kind: (1, each.bytes)})
            return
        called = [self.of(name) for name in each.called]
        if each.kind == "conditional" and called:
            yield max(called, key=lambda total: total.bytes)
        elif each.kind == "while":
            yield from (total.times(each.turns) for total in called)
        else:
            yield from called


def _read(text: str) -> tuple[dict[str, list[_Instruction]], str | None]:
    """Return the instructions of each computation, and the name of the entry."""
    found: dict[str, list[_Instruction]] = {}
    sizes: dict[str, int] = {}
    entry = name = None
    for line in text.splitlines():
        head = _COMPUTATION.match(line)
        if head is not None:
            name, sizes = head[2], {}
            found[name] = []
            entry = name if head[1] else entry
        elif name is not None and (match := _INSTRUCTION.match(line)) is not None:
            own, made, kind, rest = match.groups()
            sizes[own] = _bytes(made)
            found[name].append(_instruction(kind, sizes[own], rest, sizes))
    return found, entry


def _instruction(kind: str, made: int, rest: str, sizes: Mapping[str, int]) -> _Instruction:
    given = sum(sizes.get(name, 0) for name in re.findall(r"%([\w.-]+)", rest.partition(")")[0]))
    if kind.endswith("-start") and kind.removesuffix("-start") in KINDS:
        # Its value also contains its operands, except for an all-reduce.
        kind = kind.removesuffix("-start")
        made = made if kind == "all-reduce" else made - given
    called = [name for part in _CALLED.findall(rest) for name in re.findall(r"[\w.-]+", part)]
    turns = _TURNS.search(rest)
    return _Instruction(
        kind,
        max(made, given),
        (*called, *_BRANCH.findall(rest)),
        None if turns is None else int(turns[1]),
    )


def _bytes(text: str) -> int:
    """Return the bytes of the arrays of a type: `f32[4,8]{1,0}`, or a tuple of types."""
    total = 0
    for name, bits, shape in _ARRAY.findall(text):
        size = math.prod(int(dim) for dim in shape.split(",") if dim)
        total += math.ceil(size * (8 if name == "pred" else int(bits)) / 8)
    return total
