"""Memory limits as people write them, and bytes as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.errors import ScanifyError
from scanify.verify.children.limits import human_bytes, parse_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GiB", 8 * 2**30),
        ("8 gib", 8 * 2**30),
        ("500MB", 500_000_000),
        ("1.5KiB", 1536),
        ("12", 12),
        ("12B", 12),
        ("2TB", 2 * 10**12),
    ],
)
def test_a_memory_limit_is_a_number_with_a_unit(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1GiB", "0", "0GiB", "8GiBs", "8 giga", "eight", "1e9", "8G8"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ScanifyError, match="such as 8GiB or 500MB; got"):
        parse_memory(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (36_800_000, "35.1 MiB"),
        (2**30 - 1, "1024 MiB"),
        (8 * 2**30, "8 GiB"),
        (150 * 2**30, "150 GiB"),
        (2**40, "1 TiB"),
        (5000 * 2**40, "5000 TiB"),
    ],
)
def test_bytes_are_shown_with_three_digits(count: int, text: str) -> None:
    assert human_bytes(count) == text


@given(st.integers(0, 2**49))
def test_what_is_shown_is_within_one_percent_and_can_be_read_back(count: int) -> None:
    assert abs((parse_memory(human_bytes(count)) if count else 0) - count) <= 0.01 * count
