"""Misuses of scans are found on their lines, and what looks like them is left alone."""

import re
from pathlib import Path

import pytest

from scanify.pipeline import Project
from scanify.rules import RULES

HERE = Path(__file__).parent
_PROGRAM = re.compile(r"^## (.*?)\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"# (SCN3\d\d)$")


def programs(kind: str) -> dict[str, str]:
    """The programs of one of the pages, by their titles."""
    return dict(_PROGRAM.findall((HERE / f"{kind}.md").read_text()))


def remarked(text: str, folder: Path) -> set[tuple[str, int]]:
    """The rules that say something of a program, with the lines."""
    path = folder / "model.py"
    path.write_text(text)
    return {(each.rule, each.place.span.line) for each in Project.load([path]).analyse(remarks=True).remarks}


def marked(text: str) -> set[tuple[str, int]]:
    """The rules that a program names, with the lines."""
    found = ((_MARK.search(line), number) for number, line in enumerate(text.splitlines(), 1))
    return {(match[1], number) for match, number in found if match is not None}


@pytest.mark.parametrize("title", programs("wrong"))
def test_a_misuse_is_found_on_its_line(title: str, tmp_path: Path) -> None:
    text = programs("wrong")[title]
    assert len(marked(text)) == 1
    assert remarked(text, tmp_path) == marked(text)


@pytest.mark.parametrize("title", programs("right"))
def test_nothing_is_said_of_what_is_right(title: str, tmp_path: Path) -> None:
    assert remarked(programs("right")[title], tmp_path) == set()


def test_every_rule_on_scans_has_its_misuses() -> None:
    rules = [rule for text in programs("wrong").values() for rule, _ in marked(text)]
    assert {rule.id for rule in RULES if rule.id.startswith("SCN33")} == set(rules)
    assert min(map(rules.count, rules)) >= 2 and len(programs("right")) >= len(rules)
