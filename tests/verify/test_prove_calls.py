"""Primitives that compute what a function does: calls, functions with derivatives of their own, functions of devices.

Each case: the body of a layer, a near miss, the primitives it is about, whether reverse mode goes through it.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.custom_derivatives import linear_call
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

from tests.verify.layered import Body, Case, check_gradients, check_outputs


def _relu(scale: float) -> Body:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x) * scale

    f.defjvp(lambda primals, tangents: (f(*primals), jnp.cos(primals[0]) * tangents[0]))
    return lambda x, w: f(x) * w


def _custom_vjp(forward: Any, backward: float) -> Body:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return forward(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * backward * x,))
    return lambda x, w: f(x) * w


def _linear(scale: float) -> Body:
    return lambda x, w: linear_call(lambda r, v: r * v * scale, lambda r, ct: r * ct * scale, lax.stop_gradient(w), x)


def _partitioned(function: Callable[..., Any]) -> Body:
    @custom_partitioning
    def f(x: Any, w: Any) -> Any:
        return function(x, w)

    f.def_partition(partition=_partition, infer_sharding_from_operands=_infer, sharding_rule="i j, i j -> i j")
    return lambda x, w: f(x, w)  # type: ignore[no-any-return]


def _partition(mesh: Any, args: Any, result: Any) -> Any:
    raise NotImplementedError


def _infer(mesh: Any, args: Any, result: Any) -> Any:
    raise NotImplementedError


def _sharded(collective: Any) -> Body:
    mesh = Mesh(np.array(jax.devices()[:1]), ("d",), axis_types=(AxisType.Auto,))
    f = jax.shard_map(lambda x, w: collective(x * w), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    return lambda x, w: f(x, w)  # type: ignore[no-any-return]


def _solve(scale: float) -> Body:
    return lambda x, w: (
        x + lax.custom_linear_solve(lambda v: v * scale, w, lambda matvec, b: b / scale, lambda matvec, b: b / scale)
    )


# Its name in jax 0.10 and in 0.12.
REMAT = jax.make_jaxpr(jax.checkpoint(jnp.sin))(1.0).eqns[0].primitive.name


CASES: dict[str, Case] = {
    "jit": (lambda x, w: jax.jit(jnp.multiply)(x, w), lambda x, w: jax.jit(jnp.add)(x, w), ("jit",), True),
    "jit of jit": (
        lambda x, w: jax.jit(lambda a: jax.jit(jnp.sin)(a) * w)(x),
        lambda x, w: jax.jit(lambda a: jax.jit(jnp.cos)(a) * w)(x),
        ("jit",),
        True,
    ),
    "named call": (
        lambda x, w: jax.named_call(lambda a, b: a * b, name="f")(x, w),
        lambda x, w: jax.named_call(lambda a, b: a - b, name="f")(x, w),
        (),
        True,
    ),
    "checkpoint": (
        jax.checkpoint(lambda x, w: jnp.sin(x * w)),
        jax.checkpoint(lambda x, w: jnp.sin(x + w)),
        (REMAT,),
        True,
    ),
    "checkpoint in checkpoint": (
        jax.checkpoint(lambda x, w: jax.checkpoint(jnp.sin)(x * w) * w),
        jax.checkpoint(lambda x, w: jax.checkpoint(jnp.cos)(x * w) * w),
        (REMAT,),
        True,
    ),
    "checkpoint that saves products": (
        jax.checkpoint(lambda x, w: jnp.sin(x @ w.T) @ w, policy=jax.checkpoint_policies.dots_saveable),
        jax.checkpoint(lambda x, w: jnp.sin(w @ x.T) @ w, policy=jax.checkpoint_policies.dots_saveable),
        (REMAT, "dot_general"),
        True,
    ),
    "custom_jvp": (_relu(1.0), _relu(2.0), ("custom_jvp_call",), True),
    "custom_vjp": (_custom_vjp(jnp.sin, 1.0), _custom_vjp(jnp.cos, 1.0), ("custom_vjp_call",), True),
    "linear call": (_linear(2.0), _linear(3.0), ("linear_call",), True),
    "custom partitioning": (
        _partitioned(lambda x, w: x * w),
        _partitioned(lambda x, w: x - w),
        ("custom_partitioning",),
        False,
    ),
    "composite": (
        lambda x, w: lax.composite(lambda a, b: a * b, "my.f")(x, w),
        lambda x, w: lax.composite(lambda a, b: a + b, "my.f")(x, w),
        ("composite",),
        False,
    ),
    "shard_map": (_sharded(lambda v: v), _sharded(lambda v: v * 2), ("shard_map",), True),
    "shard_map over an axis": (
        _sharded(lambda v: v + lax.axis_index("d")),
        _sharded(lambda v: v + 1 + lax.axis_index("d")),
        ("shard_map",),
        False,
    ),
    "optimization_barrier": (
        lambda x, w: jnp.multiply(*lax.optimization_barrier((x, w))) - w,
        lambda x, w: jnp.multiply(*lax.optimization_barrier((w, w))) - w,
        ("optimization_barrier",),
        True,
    ),
    "custom linear solve": (_solve(2.0), _solve(4.0), ("custom_linear_solve",), True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stack_of_layers_is_proved_and_a_near_miss_is_not(name: str) -> None:
    check_outputs(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_the_gradients_of_a_stack_are_proved_and_those_of_a_near_miss_are_not(name: str) -> None:
    check_gradients(CASES[name])
