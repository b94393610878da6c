"""Distances between arrays: what is equal bit for bit, and how far the rest is apart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.values.figures import distance


def one(a, b):
    return distance(["x"], [a], [b])


def test_equal_bits_are_equal_nan_included():
    a = np.array([1.0, np.nan, np.inf, -0.0])
    assert one(a, a.copy()).bitwise
    assert str(one(a, a.copy())) == "bit for bit equal"


def test_signed_zeros_are_not_bit_for_bit_equal_but_no_ulp_apart():
    found = one(np.array([0.0]), np.array([-0.0]))
    assert (found.bitwise, found.ulp, found.relative) == (False, 0, 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, jnp.bfloat16])
def test_neighbouring_floats_are_one_ulp_apart(dtype):
    a = np.array([1.0], dtype)
    b = np.array([1 + float(jnp.finfo(dtype).eps)], dtype)
    found = one(a, b)
    assert found.ulp == 1
    assert found.relative == pytest.approx(float(jnp.finfo(dtype).eps))


def test_ulp_count_across_zero():
    tiny = np.nextafter(np.float32(0), np.float32(1))
    assert one(np.array([-tiny]), np.array([tiny])).ulp == 2


def test_the_difference_is_measured_against_the_largest_value_of_the_array():
    found = one(np.array([100.0, 1e-9]), np.array([100.0, 2e-9]))
    assert found.relative == pytest.approx(1e-11)
    assert found.where == "x[1]"


def test_rounding_in_an_array_of_zeros_is_measured_against_the_other_arrays():
    names, big = ["big", "zero"], np.array([1.0])
    assert distance(names, [big, np.array([1e-17])], [big, np.array([-1e-17])]).relative == pytest.approx(2e-14)


def test_the_worst_array_is_named():
    found = distance(["a", "b"], [np.ones(2), np.ones(2)], [np.array([1, 1.1]), np.array([1.5, 1])])
    assert (found.where, found.values) == ("b[0]", ("1.0", "1.5"))


@pytest.mark.parametrize(
    ("a", "b"),
    [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (np.inf, -np.inf), (np.inf, np.nan)],
)
def test_nan_and_infinities_at_other_places_are_infinitely_far(a, b):
    assert one(np.array([a, 1.0]), np.array([b, 1.0])).relative == float("inf")


def test_differing_integers_are_infinitely_far():
    found = one(np.array([1, 2]), np.array([1, 3]))
    assert (found.relative, found.where, found.values) == (float("inf"), "x[1]", ("2", "3"))


def test_keys_compare_by_their_data():
    assert one(jax.random.key(1), jax.random.key(1)).bitwise
    assert one(jax.random.key(1), jax.random.key(2)).relative == float("inf")


def test_another_dtype_is_infinitely_far():
    assert one(np.ones(2, np.float32), np.ones(2, np.float64)).relative == float("inf")


def test_complex_values_compare_by_modulus():
    assert one(np.array([3 + 4j]), np.array([3 + 4.5j])).relative == pytest.approx(0.1)


def test_empty_arrays_are_equal():
    assert one(np.zeros((0, 3)), np.zeros((0, 3))).bitwise
