"""What some layers compute of the carry that they give: one scan applies all layers, which copies none of them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import BlockSeq, ScanCheckpointPolicy

D, DEPTH, WANTED = 3, 8, (2, 5, 7)

pytestmark = pytest.mark.usefixtures("float64")


class Layer(eqx.Module):
    weight: jax.Array
    name: str = eqx.field(static=True, default="layer")

    def __call__(self, x: Any) -> Any:
        return jnp.sin(self.weight @ x)


def normed(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    x = layer(x)
    return x, [scale * x / jnp.linalg.norm(x)] if at in WANTED else []


def the_carry(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    x = layer(x)
    return x, {"x": x, "at": at} if at in WANTED else None


def by_number(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    x = layer(x)
    return x, [jax.nn.relu(x) * at] if at % 3 == 0 else [x.sum()] if at % 3 == 1 else []


def part_of_a_carry(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    x, total = x if isinstance(x, tuple) else (x, x)
    x = layer(x)
    return (x, total + x), [scale * total] if at == 2 else [scale * (total + x)] if at in WANTED else []


def twice(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    x = layer(x[0] if isinstance(x, tuple) else x) * scale
    return (x, x), [x * 2] if at in WANTED else []


def of_the_layer(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    x = layer(x)
    return x, [layer.weight @ x] if at in WANTED else []


def of_what_it_was_given(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    return layer(x), [x * scale] if at in WANTED else []


def of_its_inside(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    inside = layer.weight @ x
    return jnp.sin(inside), [inside] if at in WANTED else []


def of_unlike_arguments(layer: Layer, x: Any, at: int, scale: Any) -> Any:
    x = layer(x)
    return x, [scale * x * jnp.ones(at).sum()] if at in WANTED else []


Form = Callable[[Layer, Any, int, Any], Any]
# Each with whether one scan applies all layers.
FORMS: list[tuple[Form, bool]] = [
    (normed, True),
    (the_carry, True),
    (by_number, True),
    (twice, True),
    (of_unlike_arguments, True),
    (part_of_a_carry, False),  # layer 2 gives what the carry was
    (of_the_layer, False),
    (of_what_it_was_given, False),
    (of_its_inside, False),
]


def layers() -> list[Layer]:
    return [Layer(jr.normal(key, (D, D))) for key in jr.split(jr.key(0), DEPTH)]


def appended(form: Form, sequence: Any, x: Any, scale: Any, reverse: bool) -> Any:
    """The oracle."""
    ys: list[Any] = []
    pairs = list(enumerate(sequence))
    for at, layer in reversed(pairs) if reverse else pairs:
        x, y = form(layer, x, at, scale)
        ys.append(y)
    return x, ys[::-1] if reverse else ys


def collected(form: Form, sequence: Any, x: Any, scale: Any, reverse: bool) -> Any:
    def apply(layer: Layer, x: Any, at: Any) -> Any:
        return form(layer, x, at if isinstance(at, int) else len(at), scale)

    if form in (part_of_a_carry, twice):
        x = (x, x)
    given = [np.ones(at) for at in range(DEPTH)] if form is of_unlike_arguments else range(DEPTH)
    return sequence.collect_via(apply, in_axes=(0,), reverse=reverse)(x, given)


def total(run: Callable[..., Any], form: Form, sequence: Any, x: Any, scale: Any, reverse: bool) -> Any:
    last, ys = run(form, sequence, x, scale, reverse)
    arrays = [leaf for leaf in jax.tree.leaves((last, ys)) if eqx.is_array(leaf)]
    return sum((at + 1) * jnp.sum(array**2) for at, array in enumerate(arrays)), (last, ys)


@pytest.mark.parametrize("policy", [True, ScanCheckpointPolicy(save_dots=True)], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("form", "one_scan"), FORMS, ids=[form.__name__ for form, _ in FORMS])
def test_layers_that_compute_of_their_carry_are_one_scan(
    form: Form, one_scan: bool, reverse: bool, policy: Any
) -> None:
    plain, x, scale = layers(), jnp.linspace(-1.0, 1.0, D), jnp.linspace(0.5, 1.5, D)
    stack = BlockSeq.of(layers(), gradient_checkpointing=policy)
    grad = eqx.filter_value_and_grad(lambda given, run: total(run, form, *given, reverse), has_aux=True)
    (_, want), slopes = grad((plain, x, scale), appended)
    (_, got), found = grad((stack, x, scale), collected)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    rows = [list(found[0]), *found[1:]]
    for one, other in zip(jax.tree.leaves((got, rows)), jax.tree.leaves((want, list(slopes))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    jaxpr = str(jax.make_jaxpr(lambda x: total(collected, form, stack, x, scale, reverse)[0])(x))
    assert (jaxpr.count(" sin ") == 1) == one_scan, jaxpr
