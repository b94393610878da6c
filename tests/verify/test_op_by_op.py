"""What is computed operation by operation is what the function gives, with calls opened and values where it needs them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.programs.op_by_op import op_by_op


@jax.jit
def squashed(x: Any) -> Any:
    return jnp.tanh(x) * 2


def mixed(x: Any, config: dict[str, Any]) -> dict[str, Any]:
    key = jax.random.fold_in(config["key"], 3)
    return {
        "name": config["name"],
        "none": None,
        "drawn": jax.random.truncated_normal(key, -2, 2, (4, 4)),
        "key": key,
        "scanned": jax.lax.scan(lambda carry, row: (carry + row, squashed(row)), x[0], x),
        "branch": jax.lax.cond(config["train"], jnp.sin, jnp.cos, x),
        "number": config["rate"] * 2,
    }


def test_it_gives_what_the_function_gives() -> None:
    arguments = jnp.arange(6.0).reshape(3, 2), {"key": jax.random.key(0), "name": "a", "train": True, "rate": 0.5}
    mine, theirs = op_by_op(mixed, *arguments), mixed(*arguments)
    assert jax.tree.structure(mine) == jax.tree.structure(theirs)
    assert (mine["name"], mine["number"]) == ("a", 1.0)
    for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        if hasattr(one, "dtype") and jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        if hasattr(one, "dtype"):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "needs", [lambda x: x * float(x.sum()), lambda x: x if x.sum() > 0 else -x, lambda x: x[x > 1], np.asarray,
              lambda x: x * range(9)[x.astype(int)[0, 1]]]
)  # fmt: skip
def test_a_function_that_needs_values_has_them(needs: Any) -> None:
    x = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(op_by_op(needs, x), needs(x))


def test_what_needs_no_operation_is_of_the_library_that_made_it() -> None:
    """A cache begins with zeros and an index, which the traced program holds as constants."""

    def cache(x: Any) -> list[Any]:
        return [jnp.array(0, jnp.uint32), jnp.zeros(()), jnp.asarray(2), np.ones(2), jnp.asarray(np.ones(2)), x]

    for one, other in zip(op_by_op(cache, jnp.ones(3)), cache(jnp.ones(3)), strict=True):
        assert (type(one), one.dtype, getattr(one, "weak_type", 0)) == (
            type(other), other.dtype, getattr(other, "weak_type", 0),
        )  # fmt: skip
        np.testing.assert_array_equal(one, other)


def test_effects_happen_once() -> None:
    seen: list[float] = []

    def told(x: Any) -> Any:
        jax.debug.callback(lambda value: seen.append(float(value)), x)
        return x + 1

    assert op_by_op(told, jnp.float32(2)) == 3
    jax.effects_barrier()
    assert seen == [2.0]


def test_where_it_is_traced_it_stays_so() -> None:
    jaxpr = jax.make_jaxpr(lambda x: op_by_op(squashed, x))(jnp.ones(2))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] in (["jit"], ["pjit"])


def test_layers_of_one_shape_share_their_programs() -> None:
    """Each operation is compiled once, though every layer brings a program of its own."""

    def layers(x: Any) -> Any:
        for _ in range(3):
            x = jax.jit(lambda y: jnp.sin(y) @ y)(x)
        return x

    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, *_, **__: compiled.append(name) if "backend_compile" in name else None
    )
    op_by_op(layers, jnp.ones((7, 7)))
    first = len(compiled)
    op_by_op(layers, jnp.ones((7, 7)))
    assert len(compiled) == first
