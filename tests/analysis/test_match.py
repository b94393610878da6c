"""`match` in a body: one case for all layers moves into the function of a scan, a case of each layer's own does not."""

import pytest
from helpers import model, only, refused

from scanify.analysis.plan import Plan
from tests.texts import texts

BODY = """\
for i, layer in enumerate(self.layers):
    match SUBJECT:
        case PATTERN:
            x = layer(x)
        case _:
            x = jnp.tanh(layer(x))
"""


def text_of(subject: str, pattern: str, before: str = "kind = mask") -> str:
    return model(BODY.replace("SUBJECT", subject).replace("PATTERN", pattern), before=before)


@pytest.mark.parametrize(
    ("subject", "pattern"),
    [
        ("kind", "'post'"),
        ("kind.name", "'post' | 'pre'"),
        ("self.norm.eps", "0.5"),
        ("kind", "None"),
        ("(kind, mask)", "'post'"),
    ],
)
def test_a_case_that_is_the_same_for_all_layers_moves_with_the_body(subject: str, pattern: str) -> None:
    found = only(text_of(subject, pattern))
    assert isinstance(found, Plan) and found.carry == ("x",)


@pytest.mark.parametrize(
    ("subject", "pattern"),
    [
        ("layer", "Block()"),
        ("layer.kind", "'post'"),
        ("i", "0"),
        ("x", "'post'"),
        ("(kind, i)", "'post'"),
        ("next(kind)", "'post'"),
        ("kind", "'post' if i > 2"),
        ("kind", "Block()"),
        ("kind", "[_, _]"),
        ("kind", "found"),
        ("(taken := kind)", "'post'"),
    ],
)
def test_a_case_of_each_layer_or_of_the_carry_is_refused(subject: str, pattern: str) -> None:
    text = text_of(subject, pattern)
    if pattern == "found":  # a name that takes everything is the last case there may be
        text = text.replace("            case _:\n                x = jnp.tanh(layer(x))\n", "")
    assert "`match`" in refused("SCN212", text).reason


@pytest.mark.parametrize("body", ["x = layer(x)", "print(x)", "x = layer(x) * float(x.sum())"])
def test_what_the_cases_do_is_not_understood(body: str) -> None:
    found = only(text_of("kind", "'post'").replace("x = layer(x)", body, 1))
    assert isinstance(found, Plan) and any("a `match` statement" in each for each in texts(found.obligations))
