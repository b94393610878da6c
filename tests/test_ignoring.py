"""Comments that silence nothing: which those are, what is said of them, and what is left when they are taken out."""

import json

import pytest

from tests.command import MODEL, REFUSED, Tool

HEAD = "        for layer in self.layers:"


def with_comment(comment: str, text: str = MODEL) -> str:
    return text.replace(HEAD, f"{HEAD}  {comment}")


USED = {
    "every rule": with_comment("# scanify: ignore"),
    "its rule": with_comment("# scanify: ignore[SCN101] tuned by hand"),
    "the beginning of its rule": with_comment("# scanify: ignore[scn1]"),
    "a refusal": with_comment("# scanify: ignore[SCN205]", REFUSED),
    "from above": MODEL.replace(HEAD, f"        # scanify: ignore[SCN101]\n{HEAD}"),
    "below another comment": with_comment("# one by one  # scanify: ignore"),
    "a file": f"# scanify: ignore-file\n{MODEL}",
    "a file by rule": f"{MODEL}# scanify: ignore-file[SCN101]\n",
    "no comment": "text = '# scanify: ignore'\n",
}
# What is found, and the text without it.
IDLE = {
    "no loop": ("x = 1  # scanify: ignore\n", ["SCN301"], "x = 1\n"),
    "beside another comment": ("x = 1  # one  # scanify: ignore\n", ["SCN301"], "x = 1  # one\n"),
    "before another comment": ("x = 1  # scanify: ignore  # one\n", ["SCN301"], "x = 1  # one\n"),
    "on a line of its own": ("x = 1\n    # scanify: ignore\ny = 2\n", ["SCN301"], "x = 1\ny = 2\n"),
    "a file without loops": ("# scanify: ignore-file[SCN1]\r\nx = 1\r\n", ["SCN301"], "x = 1\r\n"),
    "at the end of the text": ("x = 1\n# scanify: ignore", ["SCN301"], "x = 1\n"),
    "no code": (with_comment("# scanify: ignore[]"), ["SCN301", "SCN101"], MODEL),
    "another rule": (with_comment("# scanify: ignore[SCN205]"), ["SCN301", "SCN101"], MODEL),
    "one rule of two": (
        with_comment("# scanify: ignore[SCN205, SCN101] why"),
        ["SCN301"],
        with_comment("# scanify: ignore[SCN101] why"),
    ),
    "an unknown code": (with_comment("# scanify: ignore[SCN1O1]"), ["SCN302", "SCN101"], MODEL),
    "an unknown code of two": (
        with_comment("# scanify: ignore[SCN101,SCN9]"),
        ["SCN302"],
        with_comment("# scanify: ignore[SCN101]"),
    ),
}


@pytest.mark.parametrize("name", USED)
def test_what_silences_a_loop_stays(tool: Tool, name: str) -> None:
    path = tool.write("m.py", USED[name])
    assert tool("check", "--fix-ignores", "-q") == (0, "", "scanify: 0 comments without effect taken out\n")
    assert path.read_text() == USED[name]


@pytest.mark.parametrize("name", IDLE)
def test_what_silences_nothing_is_found_and_taken_out(tool: Tool, name: str) -> None:
    text, rules, left = IDLE[name]
    path = tool.write("m.py", text)
    found = tool("check", "--format", "json")
    document = json.loads(found.out)
    assert [each["rule"] for each in (*document["comments"], *document["loops"])] == rules
    assert found.code == 1
    tool("check", "--fix-ignores")
    assert path.read_bytes().decode() == left
    again = json.loads(tool("check", "--format", "json").out)
    assert (again["comments"], again["loops"]) == ([], document["loops"])


def test_an_unknown_code_is_an_error_with_the_nearest_one(tool: Tool) -> None:
    tool.write("m.py", with_comment("# scanify: ignore[SCN1O1]"))
    assert "m.py:22: SCN302 no rule begins with 'SCN1O1'; did you mean SCN101?" in tool("check").out
    assert "::error title=scanify (SCN302)" in tool("check", "--format", "github").out


def test_it_can_be_left_unsaid(tool: Tool) -> None:
    tool.write("m.py", "x = 1  # scanify: ignore\n")
    assert tool("check", "--ignore", "SCN301", "-q") == (0, "", "")


def test_a_loop_that_is_silenced_for_a_rule_is_not_rewritten(tool: Tool) -> None:
    path = tool.write("m.py", with_comment("# scanify: ignore[SCN101]"))
    before = path.read_bytes()
    assert tool("rewrite", "m.py").code == 0 and path.read_bytes() == before


def test_of_a_notebook_the_cell_alone_changes(tool: Tool) -> None:
    cells = [
        {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [], "source": source}
        for source in ("%matplotlib inline\n", "x = 1  # scanify: ignore\ny = 2")
    ]
    path = tool.write("m.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    before = path.read_text()
    assert "m.ipynb:cell 2:1: SCN301" in tool("check").out
    assert tool("check", "--fix-ignores").code == 0
    assert path.read_text() == before.replace("  # scanify: ignore", "")


def test_standard_input_has_no_file_to_change(tool: Tool) -> None:
    assert tool("check", "-", "--fix-ignores", stdin=b"x = 1\n").code == 2


class TestWhatATargetRefuses:
    """It is found as any other refusal is, in `check` too, and silenced as any other."""

    EARLY = REFUSED.replace("x.sum() > limit", "limit == 2")
    OTHER = "\n    def other(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"

    @pytest.fixture(autouse=True)
    def target(self, tool: Tool) -> None:
        tool.write("pyproject.toml", '[tool.scanify]\ntarget = "lax"\n')

    def test_it_is_found(self, tool: Tool) -> None:
        tool.write("m.py", self.EARLY)
        assert "SCN217 loop over self.layers" in tool("check").out
        assert tool("check").code == 0

    @pytest.mark.parametrize("code", ["SCN217", "SCN2"])
    def test_a_comment_silences_it(self, tool: Tool, code: str) -> None:
        text = with_comment(f"# scanify: ignore[{code}]", self.EARLY)
        path = tool.write("m.py", text)
        assert tool("check", "-q") == (0, "", "")
        done = tool("rewrite", "m.py", "--unsafe")
        assert "SCN217" not in done.err and "could not" not in done.err
        assert tool("check", "--fix-ignores", "-q").code == 0 and path.read_text() == text

    def test_its_list_stays_a_list_with_the_comment_and_without(self, tool: Tool) -> None:
        plain = self.EARLY + self.OTHER
        path = tool.write("m.py", plain)
        tool("rewrite", "m.py", "--unsafe")
        without_it = path.read_text()
        assert (
            without_it != plain and "stack" not in without_it.partition("def __call__")[0].partition("def __init__")[2]
        )
        path.write_text(with_comment("# scanify: ignore[SCN217]", self.EARLY) + self.OTHER)
        tool("rewrite", "m.py", "--unsafe")
        assert path.read_text() == without_it.replace(HEAD, f"{HEAD}  # scanify: ignore[SCN217]")

    def test_for_another_target_the_comment_silences_nothing(self, tool: Tool) -> None:
        tool.write("pyproject.toml", '[tool.scanify]\ntarget = "scanify"\n')
        tool.write("m.py", with_comment("# scanify: ignore[SCN217]", self.EARLY))
        assert "SCN301" in tool("check").out
