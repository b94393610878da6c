"""Statements laid out at a width, as `ruff format` lays them out, and what a file says of its own width."""

import pytest

from scanify.emit.text.house_style import HouseStyle, house_style
from scanify.emit.text.layout import Style
from scanify.emit.text.loop_text import step_of
from scanify.emit.text.statement_layout import laid_out

STATEMENTS = {
    "x = f(aaaaaaaaaaaa, bbbbbbbbbbbb, cccccccccccc)": "x = f(\n    aaaaaaaaaaaa, bbbbbbbbbbbb, cccccccccccc\n)",
    "x = f(aaaaaaaaaaaa, bbbbbbbbbbbb, cccccccccccc, d=1)": (
        "x = f(\n    aaaaaaaaaaaa,\n    bbbbbbbbbbbb,\n    cccccccccccc,\n    d=1,\n)"
    ),
    "x = f([aaaaaaaaaaaaaaa for aaaaaaaaaaaaaaa in y])": "x = f(\n    [aaaaaaaaaaaaaaa for aaaaaaaaaaaaaaa in y]\n)",
    "x = f([aaaaaaaaaaaaaaaaaaaaaaaa(i) for i in range(yyyyyyyy)])": (
        "x = f(\n    [\n        aaaaaaaaaaaaaaaaaaaaaaaa(i)\n        for i in range(yyyyyyyy)\n    ]\n)"
    ),
    "x = f(\n    aaaa, b\n)": "x = f(aaaa, b)",
    "x = f(\n    aaaa,\n    b,\n)": "x = f(\n    aaaa,\n    b,\n)",
    "x = f(aaaaaaaaaaaaaaaaa, bbbbbbb)(cccccc, ddddddd)": "x = f(aaaaaaaaaaaaaaaaa, bbbbbbb)(\n    cccccc, ddddddd\n)",
    "x = f(aaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbb)(cccc)": (
        "x = f(\n    aaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbb\n)(cccc)"
    ),
    "return aaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbb * cccccccc + d": (
        "return (\n    aaaaaaaaaaaaaaaaaaaa\n    + bbbbbbbbbbbbbbb * cccccccc\n    + d\n)"
    ),
    "return aaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbb": (
        "return (\n    aaaaaaaaaaaaaaaaaaaaaaaa,\n    bbbbbbbbbbbbbbbbb,\n)"
    ),
    "def apply_layer(layer, aaaaaaaaaaaaa, bbbbbbbbbb): ...": (
        "def apply_layer(\n    layer, aaaaaaaaaaaaa, bbbbbbbbbb\n):"
    ),
    "x = f(  # comment\n    a\n)": None,
    "if x: y": None,
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_breaks_as_ruff_breaks_it(text: str) -> None:
    assert laid_out(text, Style("", "    ", "\n", 46)) == STATEMENTS[text]


def test_what_stands_behind_a_statement_needs_room_too() -> None:
    style = Style("    ", "    ", "\n", 24)
    assert laid_out("x = f(aaaa, bbb)", style) == "x = f(aaaa, bbb)"
    assert laid_out("x = f(aaaa, bbb)", style, tail=8) == "x = f(\n        aaaa, bbb\n    )"


WIDE = f"x = f({'a' * 90})\n"
BROKEN = f"x = f(\n    {'a' * 60}, {'b' * 20}\n)\n"

STYLES = {
    "": HouseStyle(88, True),
    WIDE: HouseStyle(100, True),
    f"# {'a' * 100}\nx = '{'a' * 100}'\n": HouseStyle(88, True),
    BROKEN: HouseStyle(88, True),
    BROKEN + WIDE: HouseStyle(97, False),
    "x = f(\n    a, b\n)\n": HouseStyle(88, False),
    "x = f(\n    a,\n    b,\n)\n": HouseStyle(88, True),
    "x = f(\n    a  # one\n)\n": HouseStyle(88, True),
    "x = f(a)\r\n": HouseStyle(88, False),
}


@pytest.mark.parametrize("text", STYLES)
def test_a_file_says_at_which_width_it_was_formatted(text: str) -> None:
    style = house_style(text + WIDE if text.startswith("x = f(\n    a, b") else text)
    expected = STYLES[text]
    assert style.formatted == expected.formatted
    assert not expected.formatted or style == expected


STEPS = {
    "def f(x):\n    return x\n": 4,
    "class A:\n  def f(x):\n    return x\n": 2,
    "class A:\n    'A class.\n\n  * an item\n  * another\n    '\n\n    def f(x):\n        return x\n": 4,
    "def f(\n  x,\n) -> int:\n    # why\n\n    return x\n": 4,
    "if x:  # why\n   y = 1\n": 3,
    "x = 1\n": 4,
    "'''Example:\n  f(x)\n'''\nif x:\n    y = 1\nelse:\n    y = 2\n": 4,
}


@pytest.mark.parametrize("text", STEPS)
def test_a_step_of_indentation_is_that_of_the_blocks_of_a_file(text: str) -> None:
    assert step_of(text, "") == " " * STEPS[text]
    assert step_of(text.replace("\n", "\r\n"), "") == " " * STEPS[text]
    assert step_of(text, "\t") == "\t"
