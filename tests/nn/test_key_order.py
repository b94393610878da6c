"""Dicts that go through layers: their keys are in the order that a loop gives them, inside of a layer and after it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq

KINDS = pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
X = jnp.linspace(-0.5, 1.0, 4)


class Layer(eqx.Module):
    weight: jax.Array

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(self.weight @ x)


def layers() -> list[Any]:
    return [Layer(jr.normal(key, (4, 4))) for key in jr.split(jr.key(0), 5)]


def each(layer: Any, carry: dict[str, Any]) -> dict[str, Any]:
    return {name: layer(x) for name, x in carry.items()}


def first(layer: Any, carry: dict[str, Any]) -> dict[str, Any]:
    """It looks at the order: the first entry is another one than the rest."""
    start, *rest = carry
    return {start: layer(carry[start]), **{name: carry[name] + carry[start] for name in rest}}


def rewritten(layer: Any, carry: dict[str, Any]) -> dict[str, Any]:
    """It gives another order than it is given, at first, and does not look at it."""
    return {"z": layer(carry["z"]), "a": carry["a"] * 2}


def turned(layer: Any, carry: dict[str, Any]) -> dict[str, Any]:
    start, last = carry
    return {last: layer(carry[last]), start: carry[start]}


def loop(fn: Any, carry: Any) -> Any:
    for layer in layers():
        carry = fn(layer, carry)
    return carry


def same(got: Any, want: Any) -> None:
    assert list(got) == list(want)
    for name in want:
        if isinstance(want[name], dict):
            same(got[name], want[name])
        else:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-6)


@KINDS
@pytest.mark.parametrize("fn", [each, first, rewritten])
@pytest.mark.parametrize("names", ["az", "za"])
def test_the_order_is_the_loop_s(kind: Any, fn: Any, names: str) -> None:
    carry = {name: X * at for at, name in enumerate(names, 1)}
    model = kind.of(layers())
    same(model.fold_via(fn)(carry), loop(fn, carry))
    # What leaves a jit is sorted by jax.
    compiled = eqx.filter_jit(lambda model, x: list(model.fold_via(fn)({"z": x, "a": x * 2}).items()))
    same(dict(compiled(model, X)), loop(fn, {"z": X, "a": X * 2}))


@KINDS
def test_dicts_within_others_and_beside_an_output(kind: Any) -> None:
    def fn(layer: Any, carry: Any) -> Any:
        x, table = carry
        inner = {name: layer(value) for name, value in table["q"].items()}
        return (layer(x), {"q": inner, "c": x}), {"y": x, "b": x}

    carry = (X, {"q": {2: X, 1: X * 2}, "c": X})
    (_, table), ys = kind.of(layers()).collect_via(fn)(carry)
    assert (list(table), list(table["q"])) == (["q", "c"], [2, 1])
    assert [list(y) for y in ys] == [["y", "b"]] * 5
    _, want = loop(lambda layer, carry: fn(layer, carry)[0], carry)
    same(table, want)


def test_an_order_that_changes_from_layer_to_layer() -> None:
    carry = {"z": X, "a": X * 2}
    same(BlockSeq.of(layers()).fold_via(turned)(carry), loop(turned, carry))
    with pytest.raises(TypeError, match="expected layers to hand on a dict with its keys in the order"):
        ArrayStacked.of(layers()).fold_via(turned)(carry)


def test_keys_that_cannot_be_sorted_keep_their_order_in_a_sequence() -> None:
    carry = {"z": X, 1: X * 2}
    same(BlockSeq.of(layers()).fold_via(each)(carry), loop(each, carry))


def test_the_program_is_what_it_was() -> None:
    """The order costs nothing: one scan over all layers."""
    model = BlockSeq.of(layers())
    jaxpr = jax.make_jaxpr(lambda x: model.fold_via(each)({"z": x, "a": x}))(X)
    scans = [equation.params["length"] for equation in jaxpr.eqns if equation.primitive.name == "scan"]
    assert scans == [5]


@KINDS
def test_dicts_that_are_walked_beside_the_layers_keep_their_order(kind: Any) -> None:
    def step(layer: Any, x: Any, cache: dict[str, Any]) -> Any:
        one, two = cache.values()
        return layer(x + one) * two["r"] - sum(value * at for at, value in enumerate(two.values()))

    caches = [{"v": X * at, "k": {"s": X + at, "r": X - at}} for at in range(5)]
    got, expected = kind.of(layers()).fold_via(step, in_axes=0)(X, caches), X
    for layer, cache in zip(layers(), caches, strict=True):
        expected = step(layer, expected, cache)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@jax.tree_util.register_pytree_node_class
class Images:
    """A node of a class that looks at what it is given, as its constructor does."""

    def __init__(self, data: dict[str, Any], dim: int) -> None:
        self.data, self.dim = {key: jnp.asarray(value) for key, value in data.items()}, dim

    def tree_flatten(self) -> tuple[tuple[Any, ...], int]:
        return (self.data,), self.dim

    @classmethod
    def tree_unflatten(cls, dim: int, children: Any) -> "Images":
        (data,) = children
        made = object.__new__(cls)
        made.data, made.dim = dict(data.items()), dim
        return made


@KINDS
def test_dicts_in_nodes_that_take_nothing_but_dicts(kind: Any) -> None:
    def turn(layer: Layer, images: Images) -> Images:
        return Images({key: layer.weight * value for key, value in images.data.items()}, images.dim)

    scales = [Layer(jnp.array(by)) for by in (2.0, 3.0, 5.0)]
    start = Images({"z": jnp.ones(2), "a": jnp.ones(3)}, 2)
    expected = start
    for layer in scales:
        expected = turn(layer, expected)
    found = kind.of(scales).fold_via(turn)(start)  # under jit the keys of arguments and results are sorted
    assert (type(found), found.dim, list(found.data)) == (Images, 2, ["z", "a"])
    assert [value.tolist() for value in found.data.values()] == [value.tolist() for value in expected.data.values()]
