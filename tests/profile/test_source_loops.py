"""Loops of a text by what they run."""

from textwrap import dedent

import pytest

from scanify.verify.profile.locations import Frame
from scanify.verify.profile.source_loops import SourceLoops


def heads(text: str, mark: str = "HERE") -> list[str]:
    """The heads of the loops around the mark, the outermost first."""
    text = dedent(text)
    before = text[: text.index(mark)]
    frame = Frame("m.py", before.count("\n") + 1, len(before.rpartition("\n")[2]))
    return [loop.head for loop in SourceLoops(text).around(frame)]


CASES = {
    "a statement": ("for a, b in zip(xs, ys):\n    HERE(a)\n", ["for a, b in zip(xs, ys)"]),
    "what it walks is not run by it": ("for a in HERE(xs):\n    f(a)\n", []),
    "its end": ("for a in xs:\n    f(a)\nelse:\n    HERE(a)\n", []),
    "after it": ("for a in xs:\n    f(a)\nHERE(a)\n", []),
    "a while": ("while n < 3:\n    HERE(n)\n", ["while n < 3"]),
    "what a while asks": ("while HERE(n):\n    f(n)\n", []),
    "a comprehension on one line": ("y = [HERE(a) for a in f(xs)]\n", ["... for a in f(xs)"]),
    "what a comprehension walks": ("y = [f(a) for a in HERE(xs)]\n", []),
    "a dict": ("y = {k: HERE(v) for k, v in xs}\n", ["... for k, v in xs"]),
    "one inside of another": ("for a in xs:\n    y = [HERE(b) for b in a]\n", ["for a in xs", "... for b in a"]),
    "several lines": ("for a in xs:\n    f(\n        HERE(a),\n    )\n", ["for a in xs"]),
    "one behind another": ("for a in xs:\n    f(a)\nfor b in ys:\n    HERE(b)\n", ["for b in ys"]),
    "a long head": (f"for a in f({'x' * 80}):\n    HERE(a)\n", [f"for a in f({'x' * 46}..."]),
    "a text that is no Python": ("for a in xs:\n    HERE(a\n", []),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_a_place_is_in_the_loops_that_run_it(text, expected):
    assert heads(text) == expected
