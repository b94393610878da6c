"""A loop in another loop: its function stands in front of both, and is given what the outer one binds."""

from collections.abc import Callable

import pytest

from tests.emit.small_model import HEAD, STACKED, body

FORMS = {
    "nothing of the outer loop is read": (
        "for _ in range(2):\n    for layer in self.layers:\n        x = x + layer(x)\nreturn x",
        """
        def apply_layer(layer, x):
            x = x + layer(x)
            return x

        for _ in range(2):
            x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
    ),
    "the outer target is read": (
        """
        # twice
        for t in range(2):
            s = t * 2  # even
            for layer in self.layers:
                x = x + layer(x) * t + s + n
        return x
        """,
        """
        def apply_layer(layer, x, s, t):
            x = x + layer(x) * t + s + n
            return x

        # twice
        for t in range(2):
            s = t * 2  # even
            x = self.layers.fold_via(apply_layer, in_axes=(None, None))(x, s, t)
        return x
        """,
    ),
    "a name that may have no value yet": (
        """
        for t in range(2):
            if t:
                s = t
            for layer in self.layers:
                x = x + layer(x) * (s if t else 1)
        return x
        """,
        """
        for t in range(2):
            if t:
                s = t

            def apply_layer(layer, x):
                x = x + layer(x) * (s if t else 1)
                return x

            x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str, rewrite: Callable[..., str]) -> None:
    loop, expected = FORMS[name]
    blank = "\n" if expected.lstrip().startswith("def ") else ""
    assert rewrite(HEAD + body(loop)) == STACKED + blank + body(expected)
