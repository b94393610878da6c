"""Notebooks made at random: a rewrite changes the sources of the cells that hold the loop, its list and the imports."""

import json

import pytest

from scanify.source.notebook.raw import read_cells
from tests.command import Tool
from tests.notebooks.random_notebook import random_notebook

SEEDS = [pytest.param(seed, marks=[pytest.mark.whole] if seed >= 12 else []) for seed in range(300)]


def without_sources(data: bytes) -> tuple[str, list[str]]:
    """All of a notebook that is no source of a code cell, byte by byte, and those sources as they are spelled."""
    document = data.decode("utf-8-sig")
    rest, spelled, done = "", [], 0
    for cell in read_cells(document):
        rest += document[done : cell.span[0]]
        spelled.append(document[cell.span[0] : cell.span[1]])
        done = cell.span[1]
    return rest + document[done:], spelled


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_else_changes(tool: Tool, seed: int) -> None:
    before = random_notebook(seed)
    path = tool.write("m.ipynb", "")
    path.write_bytes(before)
    found = tool("check", "--format", "json")
    assert [each["rule"] for each in json.loads(found.out)["loops"]] == ["SCN101"], found.out + found.err
    done = tool("rewrite", "m.ipynb", "--no-verify", "--unsafe")
    after = path.read_bytes()
    assert done.code == 0 and after != before, done.err
    assert after.startswith(b"\xef\xbb\xbf") == before.startswith(b"\xef\xbb\xbf")
    (rest, old), (rest_after, new) = without_sources(before), without_sources(after)
    assert rest == rest_after
    changed = [number for number, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    assert 1 <= len(changed) <= 3
    for number in range(len(old)):
        one, other = json.loads(old[number]), json.loads(new[number])
        assert isinstance(one, str) == isinstance(other, str)
        lines, others = "".join(one).splitlines(), "".join(other).splitlines()
        assert ("ArrayStacked" in "".join(other)) == (number in changed)
        magics = [line for line in lines if line.lstrip().startswith(("%", "!", "?"))]
        assert magics == [line for line in others if line.lstrip().startswith(("%", "!", "?"))]
        if number in changed:
            ends = [
                {"\r\n" if "\r\n" in text else "\n" for text in ["".join(each)] if "\n" in text}
                for each in (one, other)
            ]
            assert ends[0] == ends[1] or not ends[0]
    again = tool("rewrite", "m.ipynb", "--no-verify", "--unsafe")
    assert again.code == 0 and path.read_bytes() == after
