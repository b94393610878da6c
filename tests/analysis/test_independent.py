"""Loops over independent layers, of one statement or of several: maps, and those of which the reason says why not."""

import pytest
from helpers import model, only, refused

from scanify.analysis.plan import Kind, Plan

LOOP = "for layer in self.layers:\n    "


@pytest.mark.parametrize(
    ("body", "after", "rule", "words"),
    [
        ("y = layer(x)", "return y", "SCN210", "no value goes from one layer to the next"),
        (
            "y = layer(x)\n    if mask:\n        outs.append(y)\n    more.append(y)",
            "return outs, more",
            "SCN210",
            "`outs` and `more` keep",
        ),
        ("y = layer(x)\n    outs.append(y)\n    outs.append(y + 1)", "return outs", "SCN210", "`outs` keeps"),
        ("y = layer(x)\n    outs.append(y * len(outs))", "return outs", "SCN206", "the loop reads `outs`"),
        ("y = layer(x)\n    outs.append((lambda: y, y))", "return outs", "SCN206", "function"),
        ("y = layer(x)\n    outs.append(helper((y, lambda: y)))", "return outs", "SCN206", "gives a function"),
        ("y = layer(x)\n    outs.append(y)", "return y, outs", "SCN209", "`y` is read after the loop"),
    ],
)
def test_the_reason_names_what_is_kept(body, after, rule, words):
    found = refused(rule, model(LOOP + body, before="outs, more = [], []", after=after))
    assert words in found.reason and found.remedy


@pytest.mark.parametrize(
    "body",
    [
        "y = layer(x)\n    outs.append(y + y)",
        "y = layer(x)\n    y = y + 1\n    outs.append(y)",
        "outs.append(layer(x))\n    more.append(layer(mask))",
        "y = layer(x)\n    outs.append(y)\n    y = y * 2\n    more.append(y)",
        "y = x\n    for _ in range(2):\n        y = layer(y)\n    outs.append(y)",
    ],
)
def test_a_body_of_several_statements_that_appends_once_is_a_map(body: str) -> None:
    plan = only(model(LOOP + body, before="outs, more = [], []", after="return outs, more"))
    assert isinstance(plan, Plan), plan
    assert (plan.kind, plan.rule, plan.carry, plan.mapped) == (Kind.MAP, "SCN104", (), None)
    assert {each.name for each in plan.collections} == {name for name in ("outs", "more") if name in body}


@pytest.mark.parametrize("behind", ["outs = jnp.stack(outs)\nreturn outs", "outs = outs[0]\nreturn outs"])
def test_what_the_name_of_the_list_is_behind_the_loop_is_no_matter(behind: str) -> None:
    plan = only(model(LOOP + "outs.append(layer(x))", before="outs = []", after=behind))
    assert isinstance(plan, Plan) and plan.mapped is not None and plan.mapped.appends_to == "outs"
    around = f"for _ in range(2):\n    outs.append(x)\n    {LOOP.replace('    ', '        ')}outs.append(layer(x))\n    outs = x"
    assert not isinstance(found := only(model(around, before="outs = []", after="return outs")), Plan), found
