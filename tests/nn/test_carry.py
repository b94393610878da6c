"""Carries of a scan: weak types settle as in a loop, or are refused; every pytree is carried; messages name the place."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked

N = 3


class Layer(eqx.Module):
    w: jax.Array


def stack(policy: Any = False, dtype: Any = jnp.float32) -> ArrayStacked[Layer]:
    return ArrayStacked.of([Layer(jnp.asarray(i + 1.5, dtype)) for i in range(N)], gradient_checkpointing=policy)


def loop(step: Any, carry: Any, dtype: Any = jnp.float32) -> Any:
    for i in range(N):
        carry = step(Layer(jnp.asarray(i + 1.5, dtype)), carry)
    return carry


def aval(value: Any) -> Any:
    value = jnp.asarray(value)
    return value.shape, value.dtype, getattr(value, "weak_type", False)


STEPS: dict[str, Any] = {
    "a sum of losses": lambda layer, c: c + layer.w,
    "a counter that stays an integer": lambda layer, c: c + 1,
    "a counter that becomes a float": lambda layer, c: c + 1.0,
    "a product": lambda layer, c: c * layer.w,
    "a number that is given back as it is": lambda layer, c: c,
}


@pytest.mark.parametrize("policy", [False, True, "nested"])
@pytest.mark.parametrize("start", [0, 0.0, 2], ids=repr)
@pytest.mark.parametrize("name", STEPS)
def test_a_number_is_carried_as_in_the_loop(name: str, start: Any, policy: Any) -> None:
    got, expected = stack(policy).fold_via(STEPS[name])(start), loop(STEPS[name], start)
    assert aval(got) == aval(expected)
    assert float(got) == float(expected)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_a_sum_that_begins_with_0_takes_the_dtype_of_the_layers(dtype: Any) -> None:
    step = STEPS["a sum of losses"]
    got, expected = stack(True, dtype).fold_via(step)(0.0), loop(step, 0.0, dtype)
    assert aval(got) == aval(expected) == ((), dtype, False)
    assert got == expected


def test_a_weak_carry_that_only_the_first_layer_of_a_loop_sees_is_refused() -> None:
    """A loop computes `carry * bfloat16` in bfloat16 once, with the Python number, and then in float32: no scan does."""

    def step(layer: Any, carry: Any) -> Any:
        return carry * layer.w + jnp.float32(1 / 3)

    assert loop(step, 0.3, jnp.bfloat16).dtype == jnp.float32
    with pytest.raises(
        TypeError, match=r"float32\[\] \(weak\) went in, float32\[\] came out.*something else for the type"
    ):
        stack(False, jnp.bfloat16).fold_via(step)(0.3)
    start = jnp.float32(0.3)
    assert stack(False, jnp.bfloat16).fold_via(step)(start) == loop(step, start, jnp.bfloat16)


def test_a_promoted_carry_is_refused_beside_a_number_that_settles() -> None:
    def step(layer: Any, carry: Any) -> Any:
        return carry[0] + layer.w, carry[1].astype(jnp.float32)

    with pytest.raises(TypeError, match=r"at \[1\]: bfloat16\[2\] went in, float32\[2\] came out"):
        stack().fold_via(step)((0, jnp.ones(2, jnp.bfloat16)))


def test_whole_numbers_that_are_computed_with_before_they_become_floats_are_refused() -> None:
    with pytest.raises(TypeError, match="write the first one as an array with a dtype"):
        stack().fold_via(lambda layer, c: (c // 2) * layer.w)(3)


def test_a_strong_carry_that_comes_back_weak_is_refused_where_the_loop_would_compute_something_else() -> None:
    def step(layer: Any, carry: Any) -> Any:
        big = (carry * layer.w).astype(jnp.float32).sum() > 1
        return jnp.where(big, 1.5, 0.25)

    assert loop(step, jnp.float32(1), jnp.bfloat16).weak_type
    with pytest.raises(TypeError, match=r"float32\[\] went in, float32\[\] \(weak\) came out"):
        stack(False, jnp.bfloat16).fold_via(step)(jnp.float32(1))


def test_a_strong_carry_that_comes_back_weak_is_carried_where_it_makes_no_difference() -> None:
    def step(layer: Any, carry: Any) -> Any:
        return jnp.where(carry * layer.w > 1, 1.5, 0.25)

    got, expected = stack().fold_via(step)(jnp.float32(1)), loop(step, jnp.float32(1))
    assert got == expected


class Cache(eqx.Module):
    values: jax.Array
    length: Any
    name: str = eqx.field(static=True)
    act: Any = jnp.tanh


CARRIES: dict[str, Any] = {
    "nothing": None,
    "an empty list": [],
    "a typed key": jr.key(3),
    "a raw key": jr.PRNGKey(3),
    "a numpy array": np.arange(3.0, dtype=np.float32),
    "a numpy number": np.float32(2),
    "a bool": jnp.array([True, False]),
    "a module with static fields and functions": Cache(jnp.ones(2), 3, "cache"),
    "a nested tree": {"a": (jnp.ones(2), None, [jnp.int32(1)]), "b": "text"},
}


@pytest.mark.parametrize("policy", [False, True, "nested", "offload"])
@pytest.mark.parametrize("name", CARRIES)
def test_a_pytree_is_carried_as_it_is(name: str, policy: Any) -> None:
    x = jnp.float32(1)
    got, y = stack(policy).fold_via(lambda layer, c: (c[0], c[1] * layer.w))((CARRIES[name], x))
    assert jax.tree.structure(got) == jax.tree.structure(CARRIES[name])
    for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(CARRIES[name]), strict=True):
        if eqx.is_array_like(theirs):
            assert aval(mine) == aval(theirs)
            assert np.array_equal(*(jr.key_data(v) if "typed" in name else v for v in (mine, theirs)))
        else:
            assert mine is theirs
    assert y == loop(lambda layer, c: c * layer.w, x)


@pytest.mark.parametrize(
    ("start", "change", "text"),
    [
        (lambda: Cache(jnp.ones(2), 1, "a"), lambda c: Cache(c.values, c.length, "b"), r"at \.name: 'a' went in, 'b'"),
        (
            lambda: Cache(jnp.ones(2), 1, "a"),
            lambda c: Cache(c.values, None, "a"),
            r"at \.length: int32\[\] \(weak\) went",
        ),
        (
            lambda: Cache(jnp.ones(2), 1, "a"),
            lambda c: Cache(c.values[None], 1, "a"),
            r"\.values: float32\[2\] went in, float",
        ),
        (lambda: jr.key(0), lambda c: jr.key_data(c), r"key<fry>\[\] went in, uint32\[2\] came out"),
        (lambda: [jnp.ones(2)], lambda c: [*c, jnp.ones(2)], r"a list of 1 went in, a list of 2 came out"),
    ],
    ids=["static field", "array to None", "shape", "key to its data", "a list that grows"],
)
@pytest.mark.parametrize("policy", [False, True, "nested"])
def test_a_changed_carry_is_refused_by_path_and_types(start: Any, change: Any, text: str, policy: Any) -> None:
    with pytest.raises(TypeError, match=text):
        stack(policy).fold_via(lambda layer, carry: change(carry))(start())


def test_a_scan_inside_of_a_layer_settles_its_own_carry() -> None:
    inner = stack()

    def step(layer: Any, carry: Any) -> Any:
        return carry + inner.fold_via(lambda one, c: c + one.w)(0) * layer.w

    assert stack().fold_via(step)(jnp.float32(0)) == loop(step, jnp.float32(0))


def test_outputs_keep_what_is_no_array() -> None:
    _, ys = stack().scan_via(lambda layer, c: (c, Cache(c * layer.w, 2, "y")))(jnp.ones(2))
    assert ys.values.shape == (N, 2)
    assert (ys.name, ys.act) == ("y", jnp.tanh)
    assert ys.length.shape == (N,)


@pytest.mark.parametrize(
    "result", [lambda c: c, lambda c: jnp.stack([c, c]), lambda c: (c, c, c)], ids=["one", "array", "three"]
)
def test_a_scan_whose_function_gives_no_pair_is_refused(result: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a layer to give a pair \(carry, y\)"):
        stack().scan_via(lambda layer, c: result(c))(jnp.float32(0))
