"""The lowering says of the pages of the rules and the fixtures what the engine said that it takes the place of."""

import pytest
from old_engine import differences, sources

SOURCES = list(sources(0))


@pytest.mark.parametrize("name", sorted({name.split("-")[0] for _, name in SOURCES}))
def test_loops_are_read_as_before(name: str) -> None:
    texts = [(text, each) for text, each in SOURCES if each.split("-")[0] == name]
    assert [line for text, each in texts for line in differences(text, each)] == []
