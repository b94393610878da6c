"""The format for people: the source with a caret below what is meant."""

import re
from pathlib import Path

import pytest

from scanify.analysis.facts import Place, Span
from scanify.analysis.plan import Analysis, Kind, Refusal
from scanify.report.findings import concise, full
from scanify.report.findings.finding import findings
from tests.command import LINE, MODEL
from tests.report.findings import samples


def test_the_line_of_the_loop_stands_below_with_carets(tmp_path: Path) -> None:
    lines = full.render(samples.found(tmp_path, model=MODEL)).splitlines()
    assert lines[0].startswith(f"model.py:{LINE}: SCN101 loop over self.layers can be a fold")
    assert lines[1:4] == [
        "   |",
        f"{LINE} |         for layer in self.layers:",
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^",
    ]
    assert lines[4].startswith("    note: ")
    assert lines[-1] == "1 loop over layers in 1 file: 1 can be rewritten."


@pytest.mark.parametrize(
    ("behind", "meant"),
    [("  # one by one", 25), ("   ", 25), ("  # it's: 'one'", 40)],
    ids=["a comment", "blanks", "a comment with quotes"],
)
def test_a_comment_behind_the_head_is_not_meant(tmp_path: Path, behind: str, meant: int) -> None:
    text = MODEL.replace("in self.layers:\n            x", f"in self.layers:{behind}\n            x")
    carets = full.render(samples.found(tmp_path, model=text)).splitlines()[3]
    assert carets.count("^") == meant


def test_the_place_that_a_refusal_speaks_of_is_shown_too(tmp_path: Path) -> None:
    text = full.render(samples.found(tmp_path))
    shown = text[text.index("sub/stays.py") :].splitlines()
    assert [line.partition("|")[2].strip() for line in shown[1:6]] == [
        "",
        "for layer in self.layers:",
        "^^^^^^^^^^^^^^^^^^^^^^^^^",
        "",
        "break",
    ]
    assert shown[4] == "..." and "-----" in shown[6] and shown[7].startswith("    help: ")


def test_a_place_in_another_file_is_named(tmp_path: Path) -> None:
    loop, built = tmp_path / "loop.py", tmp_path / "built.py"
    texts = {loop: "for layer in layers:\n    x = layer(x)\n", built: "# a list\nlayers = [a, a]\n"}
    at = Place(built, Span(9, 24, 2, 2))
    stays = Refusal(Place(loop, Span(0, 36, 1, 2)), "SCN204", "one layer twice", Kind.FOLD, "layers", at=at)
    lines = full.render(findings(Analysis(2, (stays,)), texts, tmp_path)).splitlines()
    assert lines[2:6] == [
        "1 | for layer in layers:",
        "  | ^^^^^^^^^^^^^^^^^^^^",
        " --> built.py:2",
        "2 | layers = [a, a]",
    ]
    assert lines[6] == "  | " + "-" * 15


def test_carets_stand_below_wide_characters_and_tabs(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    line = "\tif '層層e\u0301': x = [層(x) for 層 in y]"
    start = line.index("[")
    place = Place(path, Span(start, len(line), 1, 1))
    stays = Refusal(place, "SCN210", "no carry", Kind.MAP, "y")
    drawn, carets = full.render(findings(Analysis(1, (stays,)), {path: line + "\n"}, tmp_path)).splitlines()[2:4]
    # In columns of a terminal: two wide characters stand before, and an accent that takes none.
    assert "\t" not in drawn
    assert carets.index("^") == drawn.index("[") + 2 - 1
    assert carets.count("^") == len(line) - start + 2


def test_colours_are_wanted_or_not(tmp_path: Path) -> None:
    for form in (full, concise):
        plain, coloured = (form.render(samples.found(tmp_path, colour=colour)) for colour in (False, True))
        assert "\x1b" not in plain and "\x1b[" in coloured
        assert re.sub(r"\x1b\[\d*m", "", coloured) == plain


def test_what_a_terminal_would_act_on_is_shown(tmp_path: Path) -> None:
    for form in (full, concise):
        assert "\x1b" not in form.render(samples.hostile(tmp_path))


def test_concise_is_one_line_for_each(tmp_path: Path) -> None:
    lines = concise.render(samples.found(tmp_path)).splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == ["model.py", "sub/stays.py", "bad.py"]
    assert lines[-1] == "2 loops over layers in 3 files: 1 can be rewritten, 1 left alone; 1 file skipped."
    assert concise.render(samples.found(tmp_path, summary=False)).splitlines() == lines[:-1]
