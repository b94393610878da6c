"""What is done with a program `run(model, x)`: transformations of jax, and what each is for the plain loop."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import export
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from tests.random_stacks.interpreter import interpret
from tests.random_stacks.layers import in_lists

# Those that are traced and interpreted, which is fast, stand here more often than those that must be compiled.
INTERPRETED = ["value", "grad", "grad", "jvp", "vmap", "hessian", "hessian", "grad of vmap", "walk"]
COMPILED = ["jit", "eager", "shard_map", "shard_map", "grad of shard_map", "export"]
TRANSFORMATIONS = [*INTERPRETED, *INTERPRETED, *COMPILED]
DEVICES = 8

Run = Callable[[Any, Any], Any]


def is_trained(leaf: Any) -> bool:
    """Whether a leaf has a gradient: a floating array, or a Python number that is a parameter."""
    return isinstance(leaf, float) or bool(eqx.is_inexact_array(leaf))


def loss_of(out: Any) -> Any:
    """A number that depends on all that is given."""
    every = [jnp.sum(jnp.cos(leaf) * (at + 1)) for at, leaf in enumerate(jax.tree.leaves(out))]
    return sum(every, jnp.zeros(()))


def transformed(name: str, run: Run) -> Run:
    """`run(model, x)` under a transformation; gradients are of the floating arrays and numbers of the model."""

    def loss(params: Any, static: Any, x: Any) -> Any:
        return loss_of(run(eqx.combine(params, static), x))

    def do(model: Any, x: Any) -> Any:
        params, static = eqx.partition(model, is_trained)
        if name == "grad":
            return jax.grad(loss, argnums=(0, 2))(params, static, x)
        if name == "jvp":
            return jax.jvp(lambda params, x: loss(params, static, x), (params, x), (params, jnp.ones_like(x)))
        if name == "vmap":
            return jax.vmap(lambda x: run(model, x))(jnp.stack([x, -x]))
        if name == "hessian":
            return jax.hessian(lambda x: loss(params, static, x))(x)
        if name == "grad of vmap":
            both = jnp.stack([x, 2 * x])
            return jax.grad(lambda params: jax.vmap(lambda x: loss(params, static, x))(both).sum())(params)
        return run(model, x)

    return do


def of_stack(name: str, run: Run, model: Any, x: Any, *, check: bool = True) -> Any:
    """What the program gives for a model, with a list of layers in place of each stack. `check` is that of varying
    axes."""
    if name == "walk":
        return in_lists(halved(model))
    if name == "jit":
        return in_lists(eqx.filter_jit(run)(model, x))
    if name == "eager":
        return in_lists(run(model, x))
    if name in ("shard_map", "grad of shard_map"):
        return in_lists(_over_devices(name, run, model, rows(x), check))
    if name == "export":
        return in_lists(_exported(run, model, rows(x)[:3]))
    arrays, static = eqx.partition(model, eqx.is_array)
    do = transformed(name, run)
    return in_lists(interpret(lambda arrays, x: do(eqx.combine(arrays, static), x), arrays, x))


def of_loop(name: str, run: Run, lists: Any, x: Any) -> Any:
    """The same for a model of lists, one row after another where devices or a batch have one each."""
    if name == "walk":
        return in_lists(halved(lists))
    if name == "grad of shard_map":
        params, static = eqx.partition(lists, is_trained)
        both = jax.vmap(lambda params, x: loss_of(run(eqx.combine(params, static), x)), in_axes=(None, 0))
        return in_lists(jax.grad(lambda params: both(params, rows(x)).sum())(params))
    if name in ("shard_map", "export"):
        given = rows(x) if name == "shard_map" else rows(x)[:3]
        return in_lists(jax.vmap(lambda x: run(lists, x))(given))
    return in_lists(transformed(name, run)(lists, x))


def halved(model: Any) -> Any:
    """The model with half of each floating array."""
    return jax.tree.map(lambda leaf: leaf * 0.5 if eqx.is_inexact_array(leaf) else leaf, model)


def rows(x: Any) -> Any:
    """Another `x` for each device."""
    return jnp.stack([x * (1 - at / 4) for at in range(DEVICES)])


def _over_devices(name: str, run: Run, model: Any, xs: Any, check: bool) -> Any:
    """Replicated parameters and a row of `xs` for each device. Where there is one device alone, it has all rows."""
    count = min(DEVICES, len(jax.devices()))
    mesh = jax.make_mesh((count,), ("x",), axis_types=(AxisType.Auto,), devices=jax.devices()[:count])
    params, static = eqx.partition(model, is_trained)

    def on_one(params: Any, xs: Any) -> Any:
        def one(x: Any) -> Any:
            out = run(eqx.combine(params, static), x)
            return out if name == "shard_map" else loss_of(out)

        return jax.vmap(one)(xs) if count == 1 else jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], one(xs[0]))

    mapped = jax.shard_map(on_one, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"), check_vma=check)
    if name == "shard_map":
        return jax.jit(mapped)(params, xs)
    return jax.jit(jax.grad(lambda params: mapped(params, xs).sum()))(params)


def _exported(run: Run, model: Any, xs: Any) -> Any:
    """Exported with a batch of a size that is not known, and called."""
    arrays, static = eqx.partition(model, eqx.is_array)
    leaves, treedef = jax.tree.flatten(arrays)
    found: list[Any] = []

    def flat(leaves: Any, xs: Any) -> list[Any]:
        out = jax.vmap(lambda x: run(eqx.combine(treedef.unflatten(leaves), static), x))(xs)
        found[:] = [jax.tree.structure(out)]
        return jax.tree.leaves(out)

    (batch,) = export.symbolic_shape("b")
    structs = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
    exported = export.export(jax.jit(flat))(structs, jax.ShapeDtypeStruct((batch, *xs.shape[1:]), xs.dtype))
    return found[0].unflatten(exported.call(leaves, xs))
