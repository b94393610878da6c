"""A stack that was filtered, partitioned or mapped is indexed and walked as a list of such layers would be."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked, BlockSeq


class Layer(eqx.Module):
    w: jax.Array
    count: jax.Array
    p: float
    act: Callable[[Any], Any]
    none: None = None

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x + self.act(x * self.w) * self.p + self.count


def layers() -> list[Layer]:
    return [Layer(jnp.arange(3.0) + i, jnp.int32(i), 0.5, jnp.tanh) for i in range(3)]


def gradient(model: Any) -> Any:
    def loss(model: Any) -> Any:
        x = jnp.ones(3)
        for layer in model:
            x = layer(x)
        return x.sum()

    return eqx.filter_grad(loss)(model)


MAPS: dict[str, Callable[[Any], Any]] = {
    "the gradient": gradient,
    "the floating arrays": lambda s: eqx.filter(s, eqx.is_inexact_array),
    "all other leaves": lambda s: eqx.partition(s, eqx.is_inexact_array)[1],
    "everything but numbers": lambda s: eqx.filter(s, lambda leaf: not isinstance(leaf, float)),
    "False everywhere": lambda s: jax.tree.map(lambda _: False, s),
    "a filter": lambda s: jax.tree.map(eqx.is_inexact_array_like, s),
    "pairs": lambda s: jax.tree.map(lambda leaf: (leaf, None, "s"), s),
    "halves": lambda s: jax.tree.map(lambda leaf: leaf * 2 if eqx.is_array(leaf) else leaf, s),
    "nothing": lambda s: jax.tree.map(lambda _: None, s),
    "shapes": lambda s: eqx.filter_eval_shape(lambda: s),
}


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
@pytest.mark.parametrize("name", MAPS)
def test_it_is_walked_as_a_list(name: str, kind: Any) -> None:
    got, wanted = MAPS[name](kind.of(layers())), MAPS[name](layers())
    assert len(got) == len(wanted) == 3
    walked = list(got)
    for at in range(3):
        for mine in (walked[at], got[at], got[1:][at - 1] if at else got[at], got.take([at])[0]):
            assert jax.tree.structure(mine) == jax.tree.structure(wanted[at])
            assert eqx.tree_equal(mine, wanted[at], typematch=True, rtol=1e-6)
    assert [jax.tree.structure(layer) for layer in reversed(got)] == [jax.tree.structure(wanted[0])] * 3


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_an_array_of_another_length_is_still_refused(kind: Any) -> None:
    cut = jax.tree.map(lambda leaf: leaf[:2] if eqx.is_array(leaf) else leaf, kind.of(layers()))
    for use in (lambda: cut[0], lambda: list(cut), lambda: cut.fold(jnp.ones(3))):
        with pytest.raises(ValueError, match="3 layers along axis 0"):
            use()
