"""A diff taken apart."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from scanify.report.unified import files_of
from tests.report import samples


def test_files_and_kinds_of_lines() -> None:
    first, second = files_of(
        samples.DIFF + "--- b.py\t2026\n+++ b.py\t2026\n@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n"
    )
    assert (first.name, second.name) == ("gpt/model.py", "b.py")
    assert (first.count("added"), first.count("removed")) == (3, 3)
    assert [kind for kind, _ in second.lines] == ["head", "head", "hunk", "removed", "added", "kept"]


def test_source_that_looks_like_a_header_is_source() -> None:
    (file,) = files_of("--- a\n+++ a\n@@ -1,2 +1,2 @@\n x\n--- b\n+++ c\n")
    assert file.lines[-2:] == (("removed", "--- b"), ("added", "+++ c"))


sources = st.lists(st.sampled_from(["-- a", "++ b", "@@ -1 +1 @@", "x", ""]), max_size=8)


@given(sources, sources)
def test_nothing_is_lost_and_the_lines_are_those_of_the_versions(before: list[str], after: list[str]) -> None:
    lines = list(difflib.unified_diff(before, after, "m", "m", lineterm=""))
    files = files_of("".join(f"{line}\n" for line in lines))
    assert [text for file in files for _, text in file.lines] == lines
    assert len(files) == bool(lines)
    for file in files:
        body = [(kind, text) for kind, text in file.lines if kind not in ("head", "hunk")]
        assert [text[0] for kind, text in body] == [
            {"added": "+", "removed": "-", "kept": " "}[kind] for kind, _ in body
        ]


@given(st.text(st.sampled_from("-+@ ,1\n\\ab"), max_size=60))
def test_what_is_no_diff_is_shown_all_the_same(text: str) -> None:
    lines = text.split("\n")
    assert [line for file in files_of(text) for _, line in file.lines] == (lines[:-1] if lines[-1] == "" else lines)
