"""`continue`, `break` and `return` in a loop's body, as `return`s of a function of one layer."""

import jax.numpy as jnp
import pytest

from tests.against_loop import INIT, model, rewritten, same

X = jnp.linspace(-0.5, 1.0, 4)


def loop(body: str, head: str = "for i, layer in enumerate(self.layers):") -> str:
    return f"{head}\n    " + body.replace("\n", "\n    ")


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize(
    "body",
    [
        "if i == stop:\n    break\nx = layer(x)",
        "x = layer(x)\nif i == stop:\n    break",
        "if i < len(self.layers) - 1:\n    x = layer(x)\nelse:\n    return layer(x, twice=True)",
        "last = i == len(self.layers) - 1\nif last:\n    return layer(x, twice=True), i\nx = layer(x)",
        "x = layer(x)\nif x.ndim > 1 or stop is not None and i >= stop:\n    return x, 'stopped', 2",
        "if i == stop:\n    return\nx = layer(x)",
        "x = layer(x)\nfor u in range(2):\n    if u + i == stop:\n        return x * u",
        "x = layer(x)\nif i == 0:\n    continue\nif i == stop:\n    break\nx = x * 2",
        "h = layer(x)\nif i == stop:\n    break\nx = x + h",
    ],
)
def test_exits_on_what_is_known_when_a_layer_is_traced(body, count):
    init = INIT.replace("5)]", f"5)[:{count}]]")
    call = f"h = x\n{loop(body)}\nreturn x, h"
    new = same(
        model(call, init, parameters="x, stop"), *((X, stop) for stop in ((1, None, -1, 7) if count == 5 else (0,)))
    )
    assert "until_via" in new


@pytest.mark.parametrize(
    "body",
    [
        "if i % 2:\n    continue\nx = layer(x)",
        "if self.layers is None:\n    continue\nx = layer(x)",
        "outs.append(x)\nif i == 1:\n    # not this one\n    continue\nx = layer(x)\nouts.append(x)",
        "x = layer(x)\nif i == 2:\n    h = x\n    continue\nouts.append(x)",
    ],
)
def test_a_turn_that_ends_early(body):
    new = same(model(f"outs, h = [], x\n{loop(body)}\nreturn x, outs, h"), X)
    assert "until_via" not in new


@pytest.mark.parametrize(
    "body",
    [
        "x = layer(x)\nouts.append(x)\nif i == stop:\n    break",
        "if i == stop:\n    break\nx = layer(x)\nouts.append(x * i)",
        "x = layer(x)\nif i == stop:\n    outs.append('stopped')\n    break\nouts.append(x)",
        "x = layer(x)\nif i == 0:\n    continue\nouts.append((x, i))\nif stop is not None and i >= stop:\n    break",
        "x = layer(x)\nouts.append(x)\nif i % 2:\n    more[i] = x\nif i == stop:\n    break",
        "outs.append(x)\nfor u in range(2):\n    x = layer(x)\n    if u == 1:\n        break\nif i == stop:\n    break",
        "x = layer(x)\nouts += [x, x * 2]\nif i == stop:\n    break\nx = x * 2",
    ],
)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_break_keeps_what_was_collected(body, count):
    init = INIT.replace("5)]", f"5)[:{count}]]")
    call = f"outs, more = [x], {{}}\n{loop(body)}\nreturn x, outs, more"
    stops = (1, None, -1, 7, 0, 4) if count == 5 else (0,)
    new = same(model(call, init, parameters="x, stop"), *((X, stop) for stop in stops))
    assert "collect_until_via" in new


def test_both_kinds_of_end_in_one_loop():
    body = "if i == stop:\n    break\nif i == 3:\n    return x\nx = layer(x)"
    same(model(f"{loop(body)}\nreturn x * 2", parameters="x, stop"), (X, 2), (X, 4))


def test_what_is_returned_is_one_value():
    body = "if i == 1:\n    return x, \\\n        (  # a pair\n            i, None)\nx = layer(x)"
    new = same(model(loop(body)), X)
    assert "# a pair" in new


def test_the_call_keeps_to_layers_before_the_end():
    """A layer behind the end may be one that could not be applied."""
    init = "self.layers = [Block(4 if i < 3 else 9, key=k) for i, k in enumerate(jr.split(key, 5))]"
    same(model(loop("if i == 3:\n    break\nx = layer(x)") + "\nreturn x", init), X)
    new, _ = rewritten(model(loop("if i == 3:\n    break\nx = layer(x)") + "\nreturn x", init))
    assert "break" not in new
