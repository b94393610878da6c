"""All maximal repetitions of a sequence of numbers, in near-linear time.

A repetition is a stretch that contains its period at least twice; it is maximal if it cannot be extended on either
side. There are fewer of them than the sequence has elements, and each contains a Lyndon word of the length of its
period that is the longest at its position, under one of two orders of the alphabet (Bannai et al., "The runs theorem",
SIAM Journal on Computing 46, 2017). The longest Lyndon word at a position ends where the next smaller suffix begins.

Suffixes are ranked by prefixes of increasing length (Karp, Miller and Rosenberg, 1972), each composed of as many
shorter ones as fit in a machine word; the same ranks give the length of common extensions. All steps are vectorised
except the search for the next smaller suffix.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Repetition(NamedTuple):
    """`sequence[start:stop]` has this period and cannot be extended."""

    start: int
    stop: int
    period: int


def repetitions(sequence: Numbers, least: int = 2) -> list[Repetition]:
    """Return the maximal repetitions with at least `least` (2 or more) periods, by position."""
    length = len(sequence)
    if length < 2:
        return []
    levels = _ranks(sequence)
    starts, stops = [], []
    for ranks in (levels[-1].ranks, _ranks(sequence.max() - sequence)[-1].ranks):
        starts.append(np.arange(length))
        stops.append(_next_smaller(ranks))
    first, second = np.concatenate(starts), np.concatenate(stops)
    period = second - first
    stop = second + _agree(levels, first, second, length)
    start = first - _agree_before(levels, first, second)
    found = np.unique(np.stack([start, stop, period], axis=1)[stop - start >= least * period], axis=0)
    return [Repetition(*map(int, row)) for row in found]


class _Level(NamedTuple):
    """The ranks of all stretches of one size; `times` of them make a stretch of the next level."""

    size: int
    ranks: Numbers
    times: int


def _ranks(sequence: Numbers) -> list[_Level]:
    """Return the ranks of all stretches of 1, n, n * n, ... elements, up to the size at which all are distinct."""
    length = len(sequence)
    bits = (length + 1).bit_length()
    times = 63 // bits
    ranks = np.unique(sequence, return_inverse=True)[1].astype(np.int64).reshape(-1)
    levels, size = [_Level(1, ranks, times)], 1
    while ranks.max() + 1 < length:
        joined = ranks
        for at in range(1, times):
            after = np.zeros(length, np.int64)
            after[: max(length - at * size, 0)] = ranks[at * size :] + 1  # shorter suffixes are smaller
            joined = (joined << bits) | after
        ranks = np.unique(joined, return_inverse=True)[1].astype(np.int64).reshape(-1)
        size *= times
        levels.append(_Level(size, ranks, times))
    return levels


def _next_smaller(ranks: Numbers) -> Numbers:
    """Return for each position the next one with a smaller rank, or the length if there is none."""
    values = ranks.tolist()
    found = [len(values)] * len(values)
    waiting: list[int] = []
    for place, value in enumerate(values):
        while waiting and values[waiting[-1]] > value:
            found[waiting.pop()] = place
        waiting.append(place)
    return np.array(found)


def _agree(levels: list[_Level], first: Numbers, second: Numbers, length: int) -> Numbers:
    """Return the number of equal elements from two positions on."""
    agreed = np.zeros(len(first), np.int64)
    for size, ranks, times in reversed(levels):
        for _ in range(times - 1):
            left, right = first + agreed, second + agreed
            inside = right < length
            equal = np.zeros(len(first), bool)
            equal[inside] = ranks[left[inside]] == ranks[right[inside]]
            agreed[equal] += size
    return agreed


def _agree_before(levels: list[_Level], first: Numbers, second: Numbers) -> Numbers:
    """Return the number of equal elements before two positions."""
    agreed = np.zeros(len(first), np.int64)
    for size, ranks, times in reversed(levels):
        for _ in range(times - 1):
            left, right = first - agreed - size, second - agreed - size
            inside = left >= 0
            equal = np.zeros(len(first), bool)
            equal[inside] = ranks[left[inside]] == ranks[right[inside]]
            agreed[equal] += size
    return agreed
