"""Loops over independent layers that are no map: the reason says what of the loop is in the way."""

import pytest
from helpers import model, refused

LOOP = "for layer in self.layers:\n    "


@pytest.mark.parametrize(
    ("body", "after", "rule", "words"),
    [
        ("y = layer(x)", "return y", "SCN210", "no value goes from one layer to the next"),
        (
            "outs.append(layer(x))\n    more.append(layer(mask))",
            "return outs, more",
            "SCN210",
            "`outs` and `more` keep",
        ),
        ("y = layer(x)\n    outs.append(y)", "return y, outs", "SCN209", "`y` is read after the loop"),
    ],
)
def test_the_reason_names_what_is_kept(body, after, rule, words):
    found = refused(rule, model(LOOP + body, before="outs, more = [], []", after=after))
    assert words in found.reason and found.remedy
