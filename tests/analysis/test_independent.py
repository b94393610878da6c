"""Loops over independent layers, of one statement or of several: maps, and those of which the reason says why not."""

import pytest
from helpers import decide, model, only, refused

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


@pytest.mark.parametrize(
    "given",
    [
        "rollout(layer, x)",
        "self.norm(layer, x)",
        "jax.vmap(lambda s: rollout(layer, s))(x)",
        "jax.vmap(rollout, in_axes=(None, 0))(layer, x)",
        "rollout(state=x, policy=layer)",
    ],
)
def test_layers_that_a_function_is_given_beside_something_are_mapped(given: str) -> None:
    rollout = "def rollout(policy, state):\n    return policy(state).sum()\n\n\nclass Model"
    body = f"y = {given}\n    outs.append(y * 2)"
    text = model(LOOP + body, before="outs = []", after="return outs").replace("class Model", rollout)
    text = text.replace("    norm: eqx.nn.LayerNorm\n", "\n    def norm(self, policy, x):\n        return policy(x)\n")
    assert isinstance(found := only(text), Plan), found
    element = model(f"return [{given} for layer in self.layers]", after="").replace("class Model", rollout)
    element = element.replace(
        "    norm: eqx.nn.LayerNorm\n", "\n    def norm(self, policy, x):\n        return policy(x)\n"
    )
    assert isinstance(found := only(element), Plan), found


@pytest.mark.parametrize("given", ["getattr(layer, 'rate', 0)", "isinstance(layer, Block)", "max(layer.rate, 1)"])
def test_asking_something_of_layers_is_no_application(given: str) -> None:
    assert decide(model(f"{LOOP}outs.append({given})", before="outs = []", after="return outs")) == []
