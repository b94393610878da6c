"""Stacks in ensembles: axes that are added in front of that of the layers, whatever their sizes are."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, from_state_dict, members_first, to_state_dict
from scanify.nn.list_form import list_form

KINDS = pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of], ids=["ArrayStacked", "BlockSeq"])


class Layer(eqx.Module):
    weight: jax.Array
    scale: float
    number: int

    def __init__(self, key: Any, width: int = 3) -> None:
        self.weight, self.scale, self.number = jax.random.normal(key, (width, width)), 0.5, 7

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(self.weight @ x) * self.scale


def unmarked(kind: Callable[[Any], Any], members: int = 3, count: int = 3, out_axes: int = 0) -> Any:
    keys = jax.random.split(jax.random.key(0), members)
    make = eqx.filter_vmap(
        lambda key: kind([Layer(k) for k in jax.random.split(key, count)]), out_axes=eqx.if_array(out_axes)
    )
    return make(keys)


def ensemble(kind: Callable[[Any], Any], members: int = 3, count: int = 3) -> Any:
    return members_first(unmarked(kind, members, count))


def equal(layers: Any, others: Any) -> bool:
    return len(layers) == len(others) and all(map(eqx.tree_equal, layers, others))


@KINDS
@pytest.mark.parametrize("members", [1, 3])
def test_it_is_the_list_of_its_layers(kind: Any, members: int) -> None:
    stack, layers = ensemble(kind, members), ensemble(list, members)
    assert equal(stack.unstacked(), layers) and equal([stack[-1]], layers[-1:])
    assert equal(stack.take([2, 0]).unstacked(), [layers[2], layers[0]])
    changed = stack.with_layer(1, layers[0])
    assert equal(changed.unstacked(), [layers[0], layers[0], layers[2]])
    assert jax.tree.leaves(changed)[0].shape == jax.tree.leaves(stack)[0].shape == (members, 3, 3, 3)


@KINDS
def test_an_added_axis_as_long_as_the_stack_has_to_be_marked(kind: Any) -> None:
    """The shapes of the arrays are the same with `out_axes=1`, and the axis of the layers is another one."""
    for out_axes in (0, 1):
        stack = unmarked(kind, out_axes=out_axes)
        assert repr(stack)
        for read in (
            lambda stack: stack[0],
            lambda stack: stack.unstacked(),
            lambda stack: stack.with_layer(0, unmarked(list)[0]),
            lambda stack: stack.fold_via(lambda layer, x: x)(0.0),
            lambda stack: list_form(stack),
            to_state_dict,
        ):
            with pytest.raises(ValueError, match=r"added axis is as long as the stack.*members_first\(model\)"):
                read(stack)
            read(members_first(stack))
    assert unmarked(kind, members=4)[0].weight.shape == (4, 3, 3)
    assert unmarked(kind, members=1, count=1)[0].weight.shape == (1, 3, 3)


@KINDS
def test_an_axis_behind_that_of_the_layers_is_refused(kind: Any) -> None:
    for members, out_axes in ((4, 1), (4, 2), (4, -1), (1, 1), (1, -1)):
        with pytest.raises(ValueError, match=r"its axis of layers is not known. Build an ensemble without `out_axes`"):
            unmarked(kind, members, out_axes=out_axes)[0]


def test_the_mark_is_kept_and_is_that_of_all_stacks() -> None:
    class Outer(eqx.Module):
        inner: Any

    marked = members_first({"a": ArrayStacked.of([Outer(ensemble(BlockSeq.of)) for _ in range(2)])})["a"]
    for stack in (marked, marked.take([1, 1]), marked.with_layer(0, marked[1])):
        assert stack.shapes.members_first and stack.stacked.inner.shapes.members_first
    inner = marked[0].inner
    for stack in (inner, inner.with_layer(0, inner[1]), inner.with_layers(list(inner))):
        assert stack.shapes.members_first


@KINDS
def test_what_is_taken_of_it_is_an_ensemble(kind: Any) -> None:
    stack, layers = ensemble(kind), ensemble(list)
    x = jnp.linspace(-1.0, 1.0, 9).reshape(3, 3)

    def run(layers: Any, x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    def mapped(layers: Any, run: Any) -> Any:
        return eqx.filter_vmap(run, in_axes=(eqx.if_array(0), 0))(layers, x)

    expected = mapped([layers[1], layers[1]], run)
    for taken in (stack.take([1, 1]), stack.with_layer(0, layers[1]).with_layer(2, layers[1]).take([0, 2])):
        assert np.allclose(mapped(taken, lambda stack, x: stack.fold(x)), expected, atol=1e-6)


@KINDS
def test_it_runs_outside_of_a_map_as_a_list_does(kind: Any) -> None:
    stack, layers = ensemble(kind), ensemble(list)

    def body(layer: Any, x: Any) -> Any:
        return x + layer.weight.sum(0)

    expected = jnp.zeros((3, 3))
    for layer in layers:
        expected = body(layer, expected)
    assert np.allclose(stack.fold_via(body)(jnp.zeros((3, 3))), expected)
    assert np.allclose(stack.vmap_via(lambda layer: layer.weight)(), np.stack([layer.weight for layer in layers]))


@KINDS
def test_its_arrays_by_name_are_those_of_the_list(kind: Any) -> None:
    stack, layers = ensemble(kind), ensemble(list)
    found, expected = to_state_dict(stack), to_state_dict(layers)
    assert found.keys() == expected.keys() and all((found[name] == expected[name]).all() for name in found)
    zeros = jax.tree.map(lambda x: x * 0 if eqx.is_array(x) else x, stack)
    assert eqx.tree_equal(from_state_dict(zeros, expected), stack)


def test_a_number_that_layers_share_stays_one_for_all_of_them() -> None:
    stack = jax.vmap(lambda key: ArrayStacked.of([Layer(k) for k in jax.random.split(key, 3)]))(
        jax.random.split(jax.random.key(0), 3)
    )
    stack = members_first(stack)
    stack = eqx.tree_at(lambda s: s.stacked.number, stack, jnp.array([1, 2, 3]))
    assert [layer.number.tolist() for layer in stack] == [[1, 2, 3]] * 3


def test_a_map_over_the_layers_themselves_is_refused() -> None:
    stack = ArrayStacked.of([Layer(k) for k in jax.random.split(jax.random.key(0), 3)])
    with pytest.raises(ValueError, match=r"its axis of layers is not known"):
        eqx.filter_vmap(lambda stack: stack[0].weight, in_axes=(eqx.if_array(0),))(stack)


def test_what_an_optimiser_keeps_of_a_whole_stack_has_no_form_for_its_layers() -> None:
    """A mean over rows has the rank of the arrays of a stack, and the sizes too, where all are the same."""
    stack = ensemble(ArrayStacked.of, members=3, count=3)
    rows = jax.tree.map(lambda x: jnp.mean(x, -1)[..., :2] if eqx.is_array(x) else x, stack)
    with pytest.raises(ValueError, match=r"scanify\.optim\.per_layer"):
        list_form(rows, known=True)
    with pytest.raises(ValueError, match=r"scanify\.optim\.per_layer"):
        to_state_dict(rows)


def test_arrays_that_are_replaced_follow_the_others() -> None:
    class Two(eqx.Module):
        weight: jax.Array
        bias: jax.Array

    stack = eqx.filter_vmap(lambda k: ArrayStacked.of([Two(k * jnp.ones((2, 2)), k * jnp.ones(2)) for _ in range(2)]))(
        jnp.arange(2.0)
    )
    stack = members_first(stack)
    wider = eqx.tree_at(lambda s: s.stacked.weight, stack, jnp.arange(16.0).reshape(2, 2, 2, 2, 1))
    assert (wider[1].weight == jnp.arange(16.0).reshape(2, 2, 2, 2, 1)[:, 1]).all()
    both = eqx.tree_at(lambda s: s.stacked, stack, {"other": jnp.zeros((2, 2, 5))})
    with pytest.raises(ValueError, match=r"Build a stack whose arrays were replaced anew"):
        to_state_dict(both)
    assert list(to_state_dict(ArrayStacked(both.stacked, 2))) == ["0.other", "1.other"]
