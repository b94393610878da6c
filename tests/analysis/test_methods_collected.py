"""Lists that are filled with what a method of each layer gives: as common as what the layers themselves give."""

import pytest
from helpers import decide, model, only

from scanify.analysis.plan import Kind, Plan

WALKS = ["self.layers", "reversed(self.layers)", "self.layers[::-1]"]


@pytest.mark.parametrize("walked", WALKS)
@pytest.mark.parametrize(
    ("body", "start", "rule", "kind"),
    [
        ("outs.append(layer.attend(x))", "[]", "SCN104", Kind.MAP),
        ("outs.append(jnp.tanh(layer.attend(x, mask)))", "[]", "SCN104", Kind.MAP),
        ("x = layer.attend(x)\n    outs.append(x)", "[x]", "SCN105", Kind.SCAN),
    ],
)
def test_what_a_method_gives_is_collected(walked: str, body: str, start: str, rule: str, kind: Kind) -> None:
    found = only(model(f"for layer in {walked}:\n    {body}", before=f"outs = {start}", after="return outs"))
    assert isinstance(found, Plan) and (found.rule, found.kind) == (rule, kind)


@pytest.mark.parametrize(
    "loop",
    [
        "for layer in self.layers:\n    outs.append(layer.linear.weight)",
        "for layer in self.layers:\n    outs.append(str(layer))",
        "for each in self.norm.shape:\n    outs.append(each.bit_length())",
        "for each in mask.split(','):\n    outs.append(each.strip(' '))",
    ],
)
def test_other_lists_are_not_listed(loop: str) -> None:
    assert decide(model(loop, before="outs = []", after="return outs")) == []
