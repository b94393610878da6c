"""Where values live: the types of a mesh's axes in what a scan carries, stacks and begins with."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.layout import Layout, with_layout_constraint
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import scanify
from tests.reroll.programs import equal, lengths
from tests.reroll.test_wires import LIST, N, auxiliary_loss, dense, last_only

XS = jnp.arange(4.0).reshape(1, 4) / 4


def rolled(f: Callable[..., Any], *args: Any) -> list[int]:
    """The scans of what a function is rerolled to; the function and its gradient give what they gave."""
    with pytest.WarningsRecorder(_ispytest=True) as said:
        ours, theirs = (jax.jit(each)(*args) for each in (scanify.reroll(f, min_layers=3), f))
    assert not [each for each in said if each.category.__name__ == "NotRerolled"]
    equal(ours, theirs, 1e-6)
    return lengths(jax.make_jaxpr(scanify.reroll(f, min_layers=3))(*args))


def mesh(kind: Any) -> Any:
    return jax.make_mesh((1,), ("d",), axis_types=(kind,))


def batch(layers: Any, x: Any) -> Any:
    """What is carried is first read after the layers, or first a number, or kept, or a sharded array."""
    loss, kept, y = 0.0, [], x
    for layer in layers:
        y = jnp.tanh(x @ layer["w"] + layer["b"])
        x = jnp.sin(y) * jax.nn.sigmoid(x) + y * x
        loss = loss + (x**2).sum(1)
        kept.append(y)
    return x, loss, y, kept


def test_an_explicit_mesh() -> None:
    explicit = mesh(AxisType.Explicit)
    with jax.set_mesh(explicit):
        x = jax.device_put(XS, NamedSharding(explicit, PartitionSpec("d", None)))
        layers = jax.device_put(LIST, NamedSharding(explicit, PartitionSpec()))
        assert rolled(batch, layers, x) == [N]


def test_what_is_sharded_from_the_first_layer_on_begins_with_the_second() -> None:
    explicit = mesh(AxisType.Explicit)

    def layers(layers: Any, x: Any) -> Any:
        for layer in layers:
            y = jnp.tanh(x + layer["b"]) * x
            x = jnp.sin(y) * jax.nn.sigmoid(x) + jnp.cos(y - x)
        return x

    with jax.set_mesh(explicit):
        places = [NamedSharding(explicit, PartitionSpec(axis)) for axis in (None, "d")]
        given = [{**one, "b": jax.device_put(one["b"], places[1])} for one in LIST]
        assert rolled(layers, given, jax.device_put(XS[0], places[0])) == [N - 1]


@pytest.mark.parametrize("f", [last_only, pytest.param(auxiliary_loss, marks=pytest.mark.whole)])
def test_layers_in_a_shard_map(f: Callable[..., Any]) -> None:
    def mapped(f: Callable[..., Any]) -> Callable[..., Any]:
        def one(layers: Any, x: Any) -> Any:
            return jax.tree.map(lambda each: each[None], f(layers, x[0]))

        specs = (PartitionSpec(), PartitionSpec("d"))
        return jax.shard_map(one, mesh=mesh(AxisType.Auto), in_specs=specs, out_specs=PartitionSpec("d"))

    ours, theirs = mapped(scanify.reroll(f, min_layers=3)), mapped(f)
    equal(jax.jit(ours)(LIST, XS), jax.jit(theirs)(LIST, XS), 1e-6)
    (found,) = lengths(jax.make_jaxpr(ours)(LIST, XS))
    assert found >= N - 1  # the first layer's number does not vary over the mesh


@pytest.mark.whole
def test_each_layer_a_shard_map() -> None:
    auto = mesh(AxisType.Auto)

    def layers(layers: Any, x: Any) -> Any:
        for layer in layers:
            specs = (PartitionSpec(), PartitionSpec("d"))
            one = jax.shard_map(
                lambda layer, x: dense(x[0], **layer)[None], mesh=auto, in_specs=specs, out_specs=PartitionSpec("d")
            )
            x = one(layer, x)
        return x

    assert rolled(layers, LIST * 2, XS)[0] >= 2 * N - 1


def test_constraints_that_are_made_for_each_layer() -> None:
    def layers(layers: Any, x: Any) -> Any:
        for layer in layers:
            place = NamedSharding(mesh(AxisType.Auto), PartitionSpec("d"))
            x = jax.lax.with_sharding_constraint(dense(x, **layer), place)
        return x

    assert rolled(layers, LIST, XS[0]) == [N - 1]  # from the first constraint on types have the mesh


def by_layout(other: int | None) -> Callable[..., Any]:
    def layers(layers: Any, x: Any) -> Any:
        for at, layer in enumerate(layers):
            order = (0, 1) if at == other else (1, 0)
            x = with_layout_constraint(dense(x, **layer), Layout(major_to_minor=order))
        return x

    return layers


def by_sharding(other: int | None) -> Callable[..., Any]:
    places = [NamedSharding(mesh(AxisType.Auto), PartitionSpec(*axes)) for axes in ((None, "d"), ("d",))]

    def layers(layers: Any, x: Any) -> Any:
        for at, layer in enumerate(layers):
            x = jax.lax.with_sharding_constraint(dense(x, **layer), places[at == other])
        return x

    return layers


@pytest.mark.parametrize("f", [by_layout, by_sharding])
def test_a_constraint_of_one_layer_sets_it_apart(f: Callable[..., Any]) -> None:
    x = jnp.tile(XS, (4, 1))
    alike, apart = (jax.make_jaxpr(scanify.reroll(f(other), min_layers=3))(LIST * 2, x) for other in (None, N))
    assert max(lengths(alike)) >= 2 * N - 1
    assert lengths(apart) and max(lengths(apart)) <= N
