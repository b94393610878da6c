"""Values far from those of the case: what only they tell, and where they tell nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.verify.values import checks, numeric
from scanify.verify.values.derivatives import compare_gradients
from scanify.verify.values.numeric import compare_outputs
from scanify.verify.values.points import far, shaken
from tests.verify.test_numeric import comparison, plain

IDS = jnp.array([1, 1, 4, 1, 1, 1])


def looked_up(w, ids):
    return w[ids] * jnp.arange(6.0)


def test_what_only_large_inputs_reach_fails():
    case = comparison(lambda w, x: w * x, lambda w, x: w * jnp.clip(x, -100, 100))
    outcome = compare_outputs(case)
    assert not outcome.agree
    assert outcome.text.startswith("values: with inputs 1000 times as large: float64, tolerance 1e-12")
    assert not compare_gradients(case).agree


def test_what_only_zeros_reach_fails():
    """Of two that are equal the gradient goes to both, and of `relu` at 0 to none."""
    tie = comparison(lambda w, x: jnp.maximum(w * x, 0.0), lambda w, x: jax.nn.relu(w * x))
    assert compare_outputs(tie).agree
    outcome = compare_gradients(tie)
    assert not outcome.agree and outcome.text.startswith("vjp: with inputs of zeros: float64")


def test_a_division_by_zero_that_only_parameters_of_zeros_reach_fails():
    def normed(w, x):
        hidden = w * jnp.cos(x)
        return hidden / jnp.sum(jnp.abs(hidden))

    def guarded(w, x):
        hidden = w * jnp.cos(x)
        total = jnp.sum(jnp.abs(hidden))
        return hidden / jnp.where(total == 0, 1.0, total)

    outcome = compare_outputs(comparison(normed, guarded))
    assert not outcome.agree and "with inputs and parameters of zeros" in outcome.text


def test_what_only_large_parameters_reach_fails_where_no_input_is_a_float():
    outcome = compare_outputs(comparison(looked_up, lambda w, ids: looked_up(jnp.minimum(w, 5.0), ids), x=IDS))
    assert not outcome.agree and "with parameters 8 times as large" in outcome.text


def test_what_only_other_integers_reach_fails():
    """The second id is that of the first one, by chance."""
    wrong = lambda w, ids: looked_up(w, ids.at[1].set(ids[0]))  # noqa: E731
    outcome = compare_outputs(comparison(looked_up, wrong, x=IDS))
    assert not outcome.agree and outcome.text.startswith("values: with other integers: float64")


@pytest.mark.parametrize(
    ("wrong", "x"),
    [
        (lambda ids: ids != -1, IDS),
        (lambda ids: ids >= -99, IDS),
        (lambda ids: ids != -1, jnp.array([[2, 1]], jnp.int8)),
        (lambda ids: ids >= -1, jnp.int32(3)),
    ],
    ids=["all but one", "all but another", "two", "a single one"],
)
def test_what_only_integers_below_zero_reach_fails(wrong, x):
    """The original leaves out all ids below zero."""
    summed = lambda kept: lambda w, ids: w * jnp.sum(jnp.where(kept(ids), ids, 0))  # noqa: E731
    outcome = compare_outputs(comparison(summed(lambda ids: ids >= 0), summed(wrong), x=x))
    assert not outcome.agree and "with integers below zero" in outcome.text


def test_integers_without_a_sign_are_not_taken_below_zero():
    assert all(point.about != "integers below zero" for point in far([jnp.array([1, 2], jnp.uint8)], [0]))


def test_without_points_far_away_nothing_of_it_is_seen(monkeypatch):
    monkeypatch.setattr(numeric, "far", lambda leaves, inputs: ())
    assert compare_outputs(comparison(lambda w, x: w * x, lambda w, x: w * jnp.clip(x, -100, 100))).agree
    wrong = lambda w, ids: looked_up(w, ids.at[1].set(ids[0]))  # noqa: E731
    assert compare_outputs(comparison(looked_up, wrong, x=IDS)).agree


def test_what_both_are_equal_at_is_told():
    text = compare_outputs(comparison(looked_up, looked_up, x=IDS)).text
    assert text.endswith(
        "; with other integers and with parameters 8 times as large and with inputs and parameters of zeros "
        "and with integers a little larger and with integers beyond those of the case and with zeros for integers "
        "and with integers below zero, too"
    )


def overflowing(w, x):
    return jnp.exp(w * x)


def test_an_infinity_that_becomes_a_number_fails():
    outcome = compare_outputs(comparison(overflowing, lambda w, x: jnp.where(x > 100, 0.0, overflowing(w, x))))
    assert not outcome.agree and "inf in the original, 0.0 in the rewritten version" in outcome.text


def test_where_both_overflow_in_the_same_places_they_agree():
    assert compare_outputs(comparison(overflowing, lambda w, x: jnp.exp(x * w) * 1.0)).agree


def mean(least):
    return lambda w, n: jnp.where(jnp.arange(6) < n, w, 0.0).sum() / jnp.maximum((jnp.arange(6) < n).sum(), least)


def log_of_sum(least):
    return lambda w, x: jnp.log(jnp.sum(x * x) + least) * w


def unit(least):
    return lambda w, x: jnp.where(jnp.sum(x) > -1e9, w * x / jnp.sqrt(jnp.sum(x * x) + least), 0.0)


@pytest.mark.parametrize(
    ("make", "least", "x"), [(mean, 1, jnp.int32(3)), (log_of_sum, 1e-38, None), (unit, 1e-60, None)]
)
def test_a_nan_or_an_infinity_of_the_original_alone_fails(make, least, x):
    outcome = compare_outputs(comparison(make(0), make(least), x=x))
    assert not outcome.agree and "in the original" in outcome.text
    assert compare_outputs(comparison(make(0), make(0), x=x)).agree


def checked(what, limit):
    return lambda w, x: eqx.error_if(jnp.tanh(w * x), jnp.any(jnp.abs(w * x) > limit), what)


def checked_state(what, limit):
    return lambda w, x: eqx.error_if(x, jnp.any(jnp.abs(x) > limit), what) * jnp.argmax(w)


@pytest.mark.parametrize("make", [checked, checked_state])
def test_what_raises_in_one_version_alone_fails(make):
    for one, other in ((100.0, 1e9), (1e9, 100.0)):
        outcome = compare_outputs(comparison(make("saturated", one), make("saturated", other)))
        assert not outcome.agree and "raised" in outcome.text and "with inputs 1000 times" in outcome.text
    assert compare_outputs(comparison(make("saturated", 100.0), make("too much", 100.0))).agree


def test_a_point_at_which_the_original_alone_raises_fails():
    outcome = compare_outputs(comparison(checked("never", -1.0), lambda w, x: jnp.tanh(w * x)))
    assert not outcome.agree and "the rewritten version raised nothing" in outcome.text
    outcome = compare_outputs(comparison(checked("never", -1.0), checked("ever", -1.0)))
    assert outcome.agree and not outcome.ran


def _raises_above(limit: float, scale: float = 1.0):
    return lambda w, x: eqx.error_if(jnp.tanh(w * x), jnp.any(jnp.abs(w * x) * scale > limit), "large")


def _nan_above(limit: float):
    return lambda w, x: jnp.where(jnp.sum(x * x) > limit, jnp.nan, jnp.tanh(w * x))


def _infinite_sum(w, x):
    return jnp.sum(jnp.exp(w * x))


EDGES = [
    (_raises_above(50.0), _raises_above(60.0)),
    (_raises_above(60.0), _raises_above(50.0)),
    (_nan_above(1e3), _nan_above(1.5e3)),
    (_nan_above(1e4), lambda w, x: jnp.where(jnp.max(x * x) > 1e4, jnp.nan, jnp.tanh(w * x))),
    (lambda w, x: jnp.log(20 - w * x), lambda w, x: jnp.log(jnp.where(w * x > 18.0, -1.0, 20 - w * x))),
]


@pytest.mark.parametrize(("one", "other"), EDGES)
def test_where_the_original_begins_to_raise_the_other_must_begin(one, other):
    outcome = compare_outputs(comparison(one, other))
    assert not outcome.agree and "where the original begins to raise or to give NaN" in outcome.text


@pytest.mark.parametrize("rounded", [1 + 1e-15, 1 - 1e-15])
def test_rounding_does_not_move_where_a_version_begins_to_raise(rounded):
    for one, other in (
        (_raises_above(50.0), _raises_above(50.0, rounded)),
        (_nan_above(1e3), _nan_above(1e3 * rounded)),
    ):
        outcome = compare_outputs(comparison(one, other))
        assert outcome.agree, outcome.text
    assert compare_outputs(comparison(_infinite_sum, lambda w, x: jnp.sum(jnp.exp(x * w))[None][0])).agree


def test_a_nan_that_rounding_makes_is_no_difference():
    def root(w, x, one=1.0):
        far = w * 0 + x * one + 1e9  # whose variance is rounding alone
        return jnp.sqrt(jnp.mean(far * far) - jnp.mean(far) ** 2)

    outcome = compare_outputs(comparison(root, lambda w, x: root(w, x, 1 + 1e-15)))
    assert "where the original begins" not in outcome.text


def test_rounding_that_is_magnified_is_no_difference():
    def chaotic(w, x, one=1.0):
        for _ in range(3):
            x = 50 * jnp.sin(w * x) * one
        return x

    outcome = compare_outputs(comparison(chaotic, lambda w, x: chaotic(w, x) * (1 + 1e-14)))
    assert outcome.agree, outcome.text


def test_a_model_that_magnifies_everything_says_nothing_there():
    def chaotic(w, x):
        for _ in range(60):
            x = jnp.where(jnp.abs(x) > 100, 1e3 * jnp.sin(x), x)
        return x + w

    outcome = compare_outputs(comparison(chaotic, lambda w, x: chaotic(w, x * (1 + 1e-15))))
    assert outcome.agree and "inputs 1000 times as large" not in outcome.text


def test_what_the_rewritten_version_raises_far_away_fails():
    def raising(w, x):
        return plain(w, x)

    case = comparison(plain, raising)
    runs = []

    def fails(program, leaves, rng):
        function = checks.values(program, leaves, rng)

        def run(given):
            runs.append(program)
            if program is case.after and sum(each is program for each in runs) > 1:
                raise ValueError("too large")
            return function(given)

        return run

    outcome = numeric.compare(case, numeric.Check("values", fails, case.outputs))
    assert not outcome.agree and "with inputs 1000 times as large: the rewritten version raised" in outcome.text


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.uint8, jnp.int8])
def test_integers_stay_within_their_range_and_floats_beside_them_as_they_are(dtype):
    ids, x = jnp.array([[3, 7], [5, 5]], dtype), jnp.ones(2)
    integers, larger, nothing, little, beyond, zeros, *below = far([x, ids], [0, 1])
    assert integers.leaves[1].dtype == dtype and not np.array_equal(integers.leaves[1], ids)
    assert int(integers.leaves[1].min()) >= 3 and int(integers.leaves[1].max()) <= 7
    assert integers.leaves[0] is x and larger.leaves[1] is ids and larger.leaves[0][0] == 1000
    assert nothing.leaves[1] is ids and nothing.leaves[0].tolist() == [0, 0]
    assert little.leaves[1].tolist() == [[9, 17], [13, 13]] and little.leaves[1].dtype == dtype
    assert beyond.leaves[1].dtype == dtype and int(beyond.leaves[1].max()) > 7 and not zeros.leaves[1].any()
    negative = [] if dtype == jnp.uint8 else [(-100, -1, dtype)]
    assert [(int(ids.min()), int(ids[ids < 0].max()), ids.dtype) for _, ids in (p.leaves for p in below)] == negative


def test_what_has_no_range_is_not_drawn_anew():
    assert far([jnp.zeros(0, int)], [0]) == ()
    (point,) = far([jnp.array([True, False])], [0])
    assert point.leaves[0].tolist() == [False, True]


@pytest.mark.parametrize("value", [5, -3, 2**31 - 1])
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_where_all_integers_are_one_some_are_the_next(value, shape):
    given = jnp.array(value) if shape == () else jnp.full(shape, value)
    point = far([given], [0])[0]
    (drawn,) = point.leaves
    assert (drawn.shape, drawn.dtype, drawn.weak_type) == (given.shape, given.dtype, given.weak_type)
    steps = set((np.asarray(drawn, np.int64) - value).flat)
    assert steps <= {0, 1 if value < 2**31 - 1 else -1} and steps != {0}


def test_what_only_another_position_reaches_fails():
    case = comparison(lambda w, x: w[x], lambda w, x: w[2], x=jnp.array(2))
    outcome = compare_outputs(case)
    assert not outcome.agree and outcome.text.startswith("values: with other integers: float64")


def test_parameters_that_are_integers_stay():
    assert far([jnp.array([0, 5])], []) == ()


def test_shaking_moves_floats_by_so_much_and_nothing_else():
    x, ids = shaken([jnp.ones(4), jnp.arange(4)], 1e-3)
    np.testing.assert_allclose(np.abs(x - 1), 1e-3, rtol=1e-3)
    np.testing.assert_array_equal(ids, np.arange(4))
