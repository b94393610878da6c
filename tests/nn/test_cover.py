"""The cover of a sequence: it is the sequence, in order, and it is the cheapest of its kind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.nn.covers.cover import SCAN_COST, Item, Period, Run, cheapest_cover


def unrolled(cover: tuple[Item, ...]) -> list[int]:
    """The positions that a cover applies, in its order."""
    found: list[int] = []
    for item in cover:
        if isinstance(item, Run):
            found += range(item.start, item.start + item.count)
            continue
        for at in range(item.count):
            for run in item.runs:
                start = run.start + at * item.size
                found += range(start, start + run.count)
    return found


def repeats_what_is_equal(cover: tuple[Item, ...], kinds: tuple[int, ...]) -> bool:
    for item in cover:
        runs = item.runs if isinstance(item, Period) else (item,)
        if any(len(set(kinds[run.start : run.start + run.count])) != 1 for run in runs):
            return False
        if isinstance(item, Period):
            periods = {kinds[item.start + at * item.size :][: item.size] for at in range(item.count)}
            if len(periods) != 1:
                return False
    return True


def cost(cover: tuple[Item, ...]) -> float:
    def run_cost(run: Run) -> float:
        return 1 + (SCAN_COST if run.count > 1 else 0)

    return sum(run_cost(item) if isinstance(item, Run) else SCAN_COST + sum(map(run_cost, item.runs)) for item in cover)


@pytest.mark.parametrize(
    ("text", "cover"),
    [
        ("A", (Run(0),)),
        ("AA", (Run(0), Run(1))),
        ("AAA", (Run(0, 3),)),
        ("A" * 48, (Run(0, 48),)),
        ("ABCD", (Run(0), Run(1), Run(2), Run(3))),
        ("DDD" + "E" * 58, (Run(0, 3), Run(3, 58))),
        ("PAAAAQ", (Run(0), Run(1, 4), Run(5))),
        ("AB" * 6, (Period((Run(0), Run(1)), 6),)),
        ("LLLLLG" * 8, (Period((Run(0, 5), Run(5)), 8),)),
        ("LLLLLG" * 4 + "LL", (Period((Run(0, 5), Run(5)), 4), Run(24), Run(25))),
        ("LL" + "GLLLLL" * 4, (Run(0), Run(1), Period((Run(2), Run(3, 5)), 4))),
        ("XABABABY", (Run(0), Period((Run(1), Run(2)), 3), Run(7))),
    ],
)
def test_the_cover_of_a_known_pattern(text: str, cover: tuple[Item, ...]) -> None:
    assert cheapest_cover(tuple(map(ord, text))) == cover


def test_of_nothing_the_cover_is_nothing() -> None:
    assert cheapest_cover(()) == ()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 2), max_size=16).map(tuple))
def test_a_cover_is_the_sequence_in_its_order_and_repeats_only_what_is_equal(kinds: tuple[int, ...]) -> None:
    cover = cheapest_cover(kinds)
    assert unrolled(cover) == list(range(len(kinds)))
    assert repeats_what_is_equal(cover, kinds)
    assert cost(cover) <= len(kinds)


def all_covers(kinds: tuple[int, ...], start: int = 0) -> list[tuple[Item, ...]]:
    """Every cover by runs and periods, for sequences short enough to list them."""
    if start == len(kinds):
        return [()]
    found: list[tuple[Item, ...]] = []
    for size in range(1, len(kinds) - start + 1):
        block = kinds[start : start + size]
        inner = all_runs(block, start)
        for count in range(1, (len(kinds) - start) // size + 1):
            if kinds[start : start + size * count] != block * count:
                break
            heads: list[Item] = [Run(start, count)] if size == 1 else []
            heads += [Period(runs, count) for runs in inner] if count > 1 and size > 1 else []
            found += [(head, *rest) for head in heads for rest in all_covers(kinds, start + size * count)]
    return found


def all_runs(block: tuple[int, ...], start: int) -> list[tuple[Run, ...]]:
    if not block:
        return [()]
    found = []
    for count in range(1, len(block) + 1):
        if len(set(block[:count])) == 1:
            found += [(Run(start, count), *rest) for rest in all_runs(block[count:], start + count)]
    return found


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=8).map(tuple))
def test_no_other_cover_is_cheaper(kinds: tuple[int, ...]) -> None:
    assert cost(cheapest_cover(kinds)) == min(map(cost, all_covers(kinds)))


def test_a_long_sequence_is_covered_at_once() -> None:
    cover = cheapest_cover((0, 0, 0, 0, 0, 1) * 100)
    assert cover == (Period((Run(0, 5), Run(5)), 100),)
