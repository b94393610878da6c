"""Python numbers in a carry stay such while the layers give them back as they are: a layer may branch on them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq
from scanify.nn import fold as fold_over

KINDS = [ArrayStacked, BlockSeq]


class Layer(eqx.Module):
    w: jax.Array


class Carry(NamedTuple):
    x: Any
    n: int
    more: dict[str, Any]


LAYERS = [Layer(jnp.float32(i + 1)) for i in range(4)]
START = Carry(jnp.float32(1), 3, {"rate": 0.5, "flag": True})


def step(layer: Any, c: Carry) -> Carry:
    y = c.x * layer.w if c.n < 5 else c.x
    return c._replace(x=y + 1 if c.more["flag"] is True else y)


def same(got: Any, wanted: Any) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert type(mine) is type(theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_branches_on_a_number_that_no_layer_changes(kind: Any, jit: bool) -> None:
    def run(x: Any) -> Any:
        return kind.of(LAYERS).fold_via(step)(START._replace(x=x))

    wanted = START
    for layer in LAYERS:
        wanted = step(layer, wanted)
    got = eqx.filter_jit(run)(START.x) if jit else run(START.x)
    same(got, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_changes_is_an_array_beside_one_that_does_not(kind: Any) -> None:
    def counted(layer: Any, c: Carry) -> Carry:
        return step(layer, c)._replace(more={"rate": c.more["rate"] * 2, "flag": c.more["flag"]})

    wanted = START
    for layer in LAYERS:
        wanted = counted(layer, wanted)
    got = kind.of(LAYERS).fold_via(counted)(START)
    assert got.n == 3
    assert type(got.n) is int
    np.testing.assert_allclose([got.x, got.more["rate"]], [wanted.x, wanted.more["rate"]], rtol=1e-6)


def test_a_number_that_a_later_layer_changes_is_an_array_for_all() -> None:
    class Other(Layer):
        pass

    layers = [*LAYERS[:2], Other(jnp.float32(2)), LAYERS[3]]

    def sometimes(layer: Any, c: Any) -> Any:
        return (c[0] * layer.w + c[1], c[1] + 1 if isinstance(layer, Other) else c[1])

    wanted = (1.0, 1)
    for layer in layers:
        wanted = sometimes(layer, wanted)
    got = BlockSeq.of(layers).fold_via(sometimes)((1.0, 1))
    np.testing.assert_allclose(got, wanted)


def test_a_number_is_kept_by_the_functions_too() -> None:
    got = fold_over(lambda c, x: (c[0] + x if c[1] < 5 else c[0], c[1]))((0.0, 3), jnp.arange(4.0))
    assert float(got[0]) == 6.0
    assert got[1] == 3
    assert type(got[1]) is int


@pytest.mark.parametrize("kind", KINDS)
def test_a_branch_on_a_number_that_changes_says_so(kind: Any) -> None:
    def counts(layer: Any, c: Any) -> Any:
        return (c[0] * layer.w if c[1] < 2 else c[0], c[1] + 1)

    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        kind.of(LAYERS).fold_via(counts)((jnp.float32(1), 0))
    notes = " ".join(getattr(caught.value, "__notes__", []))
    assert "a Python number in the carry that the layers change" in notes
    assert "in_axes=0" in notes
