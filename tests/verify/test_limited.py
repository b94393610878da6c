"""A program that does not end at some values is ended, and both versions must be alike in that."""

import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scanify
from scanify.testing import assert_equal_programs
from scanify.verify.values import limited, numeric
from scanify.verify.values.limited import Limited, allowing
from scanify.verify.verdict import Status

X = jnp.arange(4.0) + 0.5


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A second for each point, and not ten."""
    monkeypatch.setattr(numeric, "SECONDS", 1.0)
    with allowing(1.0):
        yield


def doubled(x: jax.Array) -> jax.Array:
    """Ends unless all of `x` is zero."""
    return jax.lax.while_loop(lambda c: jnp.sum(jnp.abs(c)) < 90, lambda c: c * 2, x)


def doubled_otherwise(x: jax.Array) -> jax.Array:
    return jax.lax.while_loop(lambda c: jnp.sum(jnp.abs(c)) < 90, lambda c: c + c + 0 * c, x)


def ends(x: jax.Array) -> jax.Array:
    def goes_on(c: jax.Array) -> jax.Array:
        return (jnp.sum(jnp.abs(c)) < 90) & jnp.any(c != 0)

    return jax.lax.while_loop(goes_on, lambda c: c + c + 0 * c, x)


def test_a_run_that_does_not_end_is_ended_and_the_next_one_runs() -> None:
    function = Limited(lambda xs: [doubled(xs[0])])
    before = function([X])
    with allowing(1.0), pytest.raises(TimeoutError, match="did not end within 1 s"):
        function([0 * X])
    assert np.array_equal(function([X])[0], before[0])


def test_any_dtype_and_keys_come_through() -> None:
    key = jax.random.key(3, impl="rbg")
    function = Limited(lambda xs: [doubled(xs[0]), jax.random.split(xs[1], 2), jnp.argmax(jnp.abs(xs[0]))])
    for x in (X, X.astype(jnp.bfloat16), X.astype(jnp.complex64)):
        found = function([x, key])
        assert found[0].dtype == x.dtype and np.array_equal(np.asarray(found[0]), np.asarray(doubled(x)))
        assert jax.random.key_impl(found[1]) == jax.random.key_impl(key)
        assert np.array_equal(jax.random.key_data(found[1]), jax.random.key_data(jax.random.split(key, 2)))


@pytest.mark.parametrize(
    "called", [lambda x: jnp.tanh(x), lambda x: jax.lax.scan(lambda c, _: (c * 2, None), x, None, 3)[0]]
)
def test_a_program_that_must_end_runs_here(called: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited._POINTS, "run", None)
    assert np.allclose(Limited(lambda xs: [called(xs[0])])([X])[0], called(X))


def test_a_program_that_calls_python_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited._POINTS, "run", None)
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
    called = Limited(lambda xs: [jax.pure_callback(lambda x: np.asarray(x) + 1, shape, doubled(xs[0]))])
    assert np.array_equal(called([X])[0], doubled(X) + 1)


@pytest.mark.usefixtures("short")
def test_a_point_where_neither_ends_is_left_out_and_said() -> None:
    found = scanify.prove_equal(doubled, doubled_otherwise, X, up_to=0)
    assert found.verdict is Status.TESTED
    said = dict(found.checks)["outputs"].reason
    assert "with inputs of zeros neither version ended within 1 s" in said and "inputs 1000 times as large" in said


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("f", "g"), [(doubled, ends), (ends, doubled_otherwise)], ids=["the first", "the second"])
def test_a_point_where_one_of_them_does_not_end_is_a_difference(f: Any, g: Any) -> None:
    with pytest.raises(AssertionError, match=r"with inputs of zeros.*TimeoutError"):
        assert_equal_programs(f, g, X, up_to=0)


@pytest.mark.usefixtures("short")
def test_values_of_the_case_at_which_nothing_ends_show_nothing() -> None:
    start = time.monotonic()
    found = scanify.prove_equal(doubled, doubled_otherwise, 0 * X, up_to=0)
    assert found.verdict is Status.NOT_RUN and "did not end" in dict(found.checks)["outputs"].reason
    assert time.monotonic() - start < 60


@pytest.mark.usefixtures("short")
def test_integers_at_which_neither_ends_are_left_out() -> None:
    def count(step: Any) -> Any:
        return lambda n: jax.lax.while_loop(lambda c: c < 90, step, n)

    found = scanify.prove_equal(count(lambda c: c * 2), count(lambda c: c + c), jnp.int32(3), up_to=0)
    assert (
        "zeros for integers and with integers below zero neither version ended" in dict(found.checks)["outputs"].reason
    )
