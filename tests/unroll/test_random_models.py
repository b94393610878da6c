"""Models made at random, there and back: a sample of what `python -m tests.unroll` does to thousands."""

import pytest

from tests.unroll.__main__ import run_beside
from tests.unroll.there_and_back import tally

STARTS = [pytest.param(start, marks=() if start == 0 else pytest.mark.whole) for start in range(0, 100, 10)]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.whole
def test_a_model_is_what_it_was(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("SCANIFY_CACHE_DIR", raising=False)
    found, every = tally(range(start, start + 10))
    assert found.failures == [] and found.edited[False] == 0
    assert found.rewritten == found.kept >= 3
    other = [there for there in every if there.read not in (there.model.text, there.scan)]
    assert [said for there in other[:1] if (said := run_beside(there)) is not None] == []
