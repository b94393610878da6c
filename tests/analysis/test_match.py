"""`match` in a body is refused, whatever its cases are."""

import pytest
from helpers import model, refused

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
        ("layer", "Block()"),
        ("kind", "'post'"),
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
def test_a_match_in_the_body_is_refused(subject: str, pattern: str) -> None:
    text = text_of(subject, pattern)
    if pattern == "found":  # a name that takes everything is the last case there may be
        text = text.replace("            case _:\n                x = jnp.tanh(layer(x))\n", "")
    assert "`match`" in refused("SCN212", text).reason
