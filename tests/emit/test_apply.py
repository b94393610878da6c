"""Applying edits."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.emit.apply import apply_all, apply_edits
from scanify.emit.edits import Edit
from scanify.errors import CheckFailed

A, B = Path("a.py"), Path("b.py")


def test_edits_apply_in_order_of_place_whatever_order_they_come_in() -> None:
    assert apply_edits("one two three", [Edit(A, 8, 13, "3"), Edit(A, 0, 3, "1")]) == "1 two 3"


def test_the_same_edit_twice_is_one_edit() -> None:
    assert apply_edits("list", [Edit(A, 0, 0, "x"), Edit(A, 0, 0, "x")]) == "xlist"


def test_an_insertion_comes_before_the_replacement_that_starts_there() -> None:
    assert apply_edits("abc", [Edit(A, 1, 2, "B"), Edit(A, 1, 1, "+")]) == "a+Bc"


def test_edits_that_touch_do_not_overlap() -> None:
    assert apply_edits("abcd", [Edit(A, 0, 2, "x"), Edit(A, 2, 4, "y")]) == "xy"


def test_edits_that_overlap_are_an_error_with_both_lines() -> None:
    with pytest.raises(CheckFailed, match=r"a.py:2: expected edits that do not overlap, got one up to line 3"):
        apply_edits("a\nb\nc\n", [Edit(A, 0, 5, "x"), Edit(A, 2, 6, "y")])


def test_an_insertion_inside_a_replacement_is_an_overlap() -> None:
    with pytest.raises(CheckFailed, match="overlap"):
        apply_edits("abc", [Edit(A, 0, 3, "x"), Edit(A, 1, 1, "y")])


def test_an_edit_past_the_end_is_an_error() -> None:
    with pytest.raises(CheckFailed, match=r"inside of the 3 characters of the file, got one at 1 to 4"):
        apply_edits("abc", [Edit(A, 1, 4, "x")])


def test_files_that_stay_the_same_are_not_in_the_answer() -> None:
    texts = {A: "a", B: "b"}
    assert apply_all(texts, [Edit(A, 0, 1, "a"), Edit(B, 0, 1, "c")]) == {B: "c"}


@given(st.lists(st.text(max_size=5), min_size=1), st.data())
def test_replacing_pieces_gives_the_pieces_replaced(pieces: list[str], data: st.DataObject) -> None:
    edits, expected, at = [], [], 0
    for piece in pieces:
        new = data.draw(st.text(max_size=5)) if piece and data.draw(st.booleans()) else piece
        if new is not piece:
            edits.append(Edit(A, at, at + len(piece), new))
        expected.append(new)
        at += len(piece)
    assert apply_edits("".join(pieces), data.draw(st.permutations(edits))) == "".join(expected)
