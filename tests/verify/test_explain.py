"""The first difference is where the programs part, in the order of the original, and not what follows from it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scanify.verify.proof.prove import prove
from scanify.verify.verdict import Difference

Layer = Callable[[Any, Any], Any]
W = [jnp.ones((3, 3))] * 3


def first(one: Layer, other: Layer) -> Difference:
    """Three layers in a loop, and three others in a scan."""

    def loop(w: Any, x: Any) -> Any:
        for each in w:
            x = one(x, each)
        return x

    def scan(w: Any, x: Any) -> Any:
        return lax.scan(lambda c, each: (other(c, each), None), x, jnp.stack(w))[0]

    traced = [jax.make_jaxpr(program)(W, jnp.ones(3)) for program in (loop, scan)]
    difference = prove(*traced, inputs=("w0", "w1", "w2", "x"), layers=(0, 1, 2, None)).difference
    assert difference is not None and difference.before is not None and difference.after is not None
    return difference


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        (lambda x, w: jnp.tanh(x @ w), lambda x, w: jnp.sin(x @ w), ("tanh", "sin")),
        (lambda x, w: jnp.tanh(x * w[0]) + x, lambda x, w: jnp.sin(x * w[0]) + x, ("tanh", "sin")),
        (lambda x, w: (x + x @ w) * 2.0, lambda x, w: (x - x @ w) * 2.0, ("add", "sub")),
        (lambda x, w: (x + w[0]) * 2.0 * w[1], lambda x, w: (x - w[0]) * 2.0 * w[1], ("add", "sub")),
    ],
    ids=["an activation", "an activation in a residual layer", "a sum", "a sum that is read by others"],
)
def test_an_operation_that_differs_in_every_layer_is_shown_in_the_first(
    one: Layer, other: Layer, names: tuple[str, str]
) -> None:
    found = first(one, other)
    assert found.before is not None and found.after is not None
    assert found.what == f"layer 0: uses {names[1]} float32[3] where the loop uses {names[0]} float32[3]"
    assert (found.before.text, found.after.text) == tuple(f"{name} float32[3]" for name in names)
    assert (found.before.layer, found.after.layer) == (0, 0)


def test_a_statement_left_out_within_a_layer_is_not_said_to_be_at_the_end() -> None:
    found = first(lambda x, w: jnp.tanh(jnp.sin(x) @ w), lambda x, w: jnp.tanh(x @ w))
    assert found.what.startswith("layer 0: ") and "ends with" not in found.what
