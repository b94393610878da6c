"""What `check` does with remarks on stacks and scans: formats, choices, comments, exit codes."""

import json

import pytest

from scanify.report.findings.formats import FORMATS
from tests.command import Tool

TEXT = """\
import flax.linen as nn


def apply(block, x):
    return nn.scan(block, variable_broadcast="params", length=n_layers)()(x, None)
"""


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_the_rule(tool: Tool, form: str) -> None:
    tool.write("m.py", TEXT)
    found = tool("check", "--format", form)
    assert found.code == 1 and "SCN336" in found.out


def test_as_json_it_has_its_place_and_what_to_write(tool: Tool) -> None:
    tool.write("m.py", TEXT)
    document = json.loads(tool("check", "--format", "json").out)
    (remark,) = document["remarks"]
    assert (remark["path"], remark["line"], remark["rule"]) == ("m.py", 5, "SCN336")
    assert remark["reason"] == "all layers have the weights of one: `params` is broadcast over `n_layers`"
    assert remark["remedy"].startswith('write `variable_axes={"params": 0}`')
    assert document["comments"] == document["loops"] == []


def test_rules_are_chosen(tool: Tool) -> None:
    tool.write("m.py", TEXT)
    assert tool("check", "--ignore", "SCN336", "-q") == (0, "", "")
    assert tool("check", "--select", "SCN1", "-q") == (0, "", "")
    assert tool("check", "--select", "SCN33", "-q").code == 1
    assert tool("check", "--exit-zero", "-q").code == 0


@pytest.mark.parametrize(
    "comment", ["# scanify: ignore", "# scanify: ignore[SCN336] on purpose", "# scanify: ignore[SCN33]"]
)
def test_a_comment_silences_it_and_is_no_idle_one(tool: Tool, comment: str) -> None:
    tool.write("m.py", TEXT.replace("(x, None)", f"(x, None)  {comment}"))
    assert tool("check", "-q") == (0, "", "")


def test_a_comment_for_another_rule_does_not(tool: Tool) -> None:
    tool.write("m.py", TEXT.replace("(x, None)", "(x, None)  # scanify: ignore[SCN330]"))
    found = tool("check", "-q").out
    assert "SCN336" in found and "SCN301" in found


def test_a_file_is_remarked_on_alike_alone_and_with_all_others(tool: Tool) -> None:
    tool.write("n.py", "from m import apply\n")
    tool.write("m.py", TEXT)
    alone, all_of_them = (json.loads(tool("check", *paths, "--format", "json").out) for paths in (["m.py"], ["."]))
    assert alone["remarks"] == all_of_them["remarks"] != []


def test_a_rewrite_leaves_it_as_it_is(tool: Tool) -> None:
    path = tool.write("m.py", TEXT)
    assert tool("rewrite", "m.py", "--no-verify").code == 0 and path.read_text() == TEXT


def test_statistics_count_it(tool: Tool) -> None:
    tool.write("m.py", TEXT)
    assert "1  SCN336  one-weight-for-all-layers" in tool("check", "--statistics").out
