"""The cheapest exact cover of a sequence of layers by scans, periods and single layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

# The cost of a scan in a program, in layers: the gradient of 4 layers as a loop has 908 lines of StableHLO, 224 a
# layer, as a scan with remat 515. So two equal layers are cheaper in sequence, three in a scan.
SCAN_COST = 1.5


@dataclass(frozen=True)
class Run:
    """`count` equal layers in sequence from position `start`; a single layer if `count` is 1."""

    start: int
    count: int = 1


@dataclass(frozen=True)
class Period:
    """`runs`, repeated `count` times, as in `8 x (5 local + 1 global)`; positions are those in the first period."""

    runs: tuple[Run, ...]
    count: int

    @property
    def start(self) -> int:
        """Return the first position."""
        return self.runs[0].start

    @property
    def size(self) -> int:
        """Return the number of layers in one period."""
        return sum(run.count for run in self.runs)


Item = Run | Period


@lru_cache(maxsize=256)
def cheapest_cover(kinds: tuple[int, ...]) -> tuple[Item, ...]:
    """Return the runs and periods that make up the sequence, in order, with the least to trace.

    Equal numbers in `kinds` are equal layers. A layer costs 1, a scan `SCAN_COST` more than its body. Dynamic
    programming over the start of the uncovered rest.
    """
    length = len(kinds)
    best: list[tuple[float, int]] = [(0.0, 0)] * (length + 1)  # cost from here on, and the number of items
    choice: list[tuple[Item, int] | None] = [None] * length
    for start in range(length - 1, -1, -1):
        options: list[tuple[float, int, Item, int]] = []
        same = _matches(kinds, start, 1) + 1
        for count in {1, *range(3, same + 1)}:
            cost = 1 + (SCAN_COST if count > 1 else 0) + best[start + count][0]
            options.append((cost, 1 + best[start + count][1], Run(start, count), start + count))
        for size, count in _periods(kinds, start):
            runs = _runs(kinds, start, size)
            end = start + size * count
            options.append((_cost(runs) + SCAN_COST + best[end][0], 1 + best[end][1], Period(runs, count), end))
        cost, items, item, end = min(options, key=lambda option: (option[0], option[1], -option[3]))
        best[start], choice[start] = (cost, items), (item, end)
    found, start = [], 0
    while start < length:
        chosen = choice[start]
        assert chosen is not None
        found.append(chosen[0])
        start = chosen[1]
    return tuple(found)


def _matches(kinds: Sequence[int], start: int, shift: int) -> int:
    """Count the layers from `start` on that are equal to the one `shift` later."""
    count = 0
    while start + shift + count < len(kinds) and kinds[start + count] == kinds[start + shift + count]:
        count += 1
    return count


def _periods(kinds: Sequence[int], start: int) -> list[tuple[int, int]]:
    """Return the sizes and counts of periods from `start` on, except those that repeat a smaller period themselves."""
    found: list[tuple[int, int]] = []
    smaller: list[tuple[int, int]] = [(1, _matches(kinds, start, 1))]
    for size in range(2, (len(kinds) - start) // 2 + 1):
        if kinds[start] != kinds[start + size]:
            continue
        if any(size % period == 0 and matches >= size - period for period, matches in smaller):
            continue
        matches = _matches(kinds, start, size)
        if matches >= size:
            smaller.append((size, matches))
            found += [(size, count) for count in range(2, matches // size + 2)]
    return found


def _runs(kinds: Sequence[int], start: int, size: int) -> tuple[Run, ...]:
    """Split `size` layers from `start` on into runs; two equal layers are two single ones."""
    runs: list[Run] = []
    at = start
    while at < start + size:
        count = min(_matches(kinds, at, 1) + 1, start + size - at)
        runs += [Run(at, count)] if count > 2 else [Run(at + one) for one in range(count)]
        at += count
    return tuple(runs)


def _cost(runs: Sequence[Run]) -> float:
    return sum(1 + (SCAN_COST if run.count > 1 else 0) for run in runs)
