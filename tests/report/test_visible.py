"""Text that any document can hold and any reader can see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.report.visible import cut, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\tb\nc", "a\tb\nc", id="tabs and line feeds stay"),
        pytest.param("a\r\nb", "a\nb", id="a line end of two characters becomes one"),
        pytest.param("a\rb", "a\\rb", id="a carriage return by itself hides what stands before it"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="terminal codes"),
        pytest.param("\x00\x85\x7f", "\\x00\\x85\\x7f", id="control characters"),
        pytest.param("if x:\u202e#\u2066", "if x:\\u202e#\\u2066", id="text turned around"),
        pytest.param("\ud800", "\\ud800", id="half a character"),
        pytest.param("\ufffe\uffff", "\\ufffe\\uffff", id="no characters"),
        pytest.param("模型 é 🦊", "模型 é 🦊", id="all else stays"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)))
def test_the_result_can_be_written_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown


def test_a_cut_says_how_much() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("a" * 3_000, 2) == "aa… (2,998 more characters)"
