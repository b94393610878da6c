"""The pages of the rules on stacks and scans: each example is remarked on where it says so, or left alone."""

from pathlib import Path

import pytest

from scanify.pipeline import Project
from scanify.rules import RULES, Example, Fence

EXAMPLES = [
    pytest.param(example, fence, id=f"{rule.id}: {example.title}: {fence.role}")
    for rule in RULES
    if rule.id[3] == "3"
    for example in rule.page.examples
    for fence in example.fences
    if fence.role in ("remarked", "left-alone")
]


@pytest.mark.parametrize(("example", "fence"), EXAMPLES)
def test_each_example_is_remarked_on_at_its_line_or_left_alone(example: Example, fence: Fence, tmp_path: Path) -> None:
    for each in example.fences:
        if each.role == "file":
            (tmp_path / str(each.option("file"))).write_text(each.code)
    (tmp_path / "model.py").write_text(fence.code)
    found = Project.load([tmp_path]).analyse(remarks=True)
    assert found.loops == ()
    if fence.role == "left-alone":
        assert found.remarks == ()
    else:
        (remark,) = found.remarks
        assert (remark.rule, remark.place.span.line) == (fence.rule, int(fence.option("line") or 0)), remark
        assert remark.remedy


def test_each_rule_on_scans_shows_two_misuses_and_two_right_uses() -> None:
    for rule in RULES:
        if rule.id.startswith("SCN33"):
            roles = [fence.role for example in rule.page.examples for fence in example.fences]
            assert roles.count("remarked") >= 2 and roles.count("left-alone") >= 2, rule.id
