"""What repeats in a sequence, held against a search that tries every period at every place."""

from random import Random

import numpy as np
import pytest

from scanify.rolling.find.repeats import repetitions

Found = list[tuple[int, int, int]]


def by_trying(sequence: list[int], least: int) -> Found:
    """Every maximal stretch that has a period, with the shortest that it has."""
    shortest: dict[tuple[int, int], int] = {}
    for period in range(1, len(sequence) // 2 + 1):
        start = 0
        while start + period < len(sequence):
            stop = start
            while stop + period < len(sequence) and sequence[stop] == sequence[stop + period]:
                stop += 1
            if stop - start >= period:
                shortest.setdefault((start, stop + period), period)
            start = stop + 1
    return sorted((*place, period) for place, period in shortest.items() if place[1] - place[0] >= least * period)


def sequence(random: Random) -> list[int]:
    letters, length = random.choice((1, 2, 3)), random.randint(2, 60)
    found = [random.randrange(letters) for _ in range(length)]
    if random.random() < 0.5:  # that repeats but for one place
        found = (found[: random.randint(1, 8)] * length)[:length]
        found[random.randrange(length)] = random.randrange(letters)
    return found


@pytest.mark.parametrize("least", [2, 3])
def test_all_of_them_are_found(least: int) -> None:
    random = Random(least)
    for _ in range(200):
        given = sequence(random)
        assert [tuple(one) for one in repetitions(np.array(given), least)] == by_trying(given, least), given


def test_of_a_long_one_whose_ranks_need_many_levels() -> None:
    period = list(range(7))
    given = [9, *period * 700, 9, *period * 3]
    assert [tuple(one) for one in repetitions(np.array(given), 3)] == [(1, 4901, 7), (4902, 4923, 7)]
