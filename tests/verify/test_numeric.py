"""Values in place of a proof: which tolerance applies, and what the outcome says about it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.verify.cases.build import build
from scanify.verify.programs.pair import pair
from scanify.verify.programs.trace import trace
from scanify.verify.programs.vmap import Batch, Nest
from scanify.verify.values.derivatives import compare_batched, compare_gradients, compare_tangents
from scanify.verify.values.numeric import Comparison, compare_outputs


class Model(eqx.Module):
    """`w` and the input, through a function that is not part of the pytree."""

    w: jax.Array
    function: object = eqx.field(static=True)

    def __call__(self, x):
        return self.function(self.w, x)


def comparison(before, after, *, dtype=jnp.float32, x=None):
    given = jnp.ones(6, dtype) if x is None else x
    built = [
        build(lambda f=f: (Model(jnp.linspace(0.5, 1.5, 6, dtype=dtype), f), (given,)), abstract=False)
        for f in (before, after)
    ]
    both = pair(*built)
    traced = trace(both.before, both.avals)
    return Comparison(
        both.before,
        both.after,
        both.leaves,
        both.found.names,
        traced.outputs.names,
        traced.outputs.inexact,
        None,
        inputs=both.inputs,
    )


def plain(w, x):
    return jnp.sin(w * x) + x


def test_equal_functions_are_equal_bit_for_bit():
    outcome = compare_outputs(comparison(plain, plain))
    assert outcome.agree
    assert outcome.text == (
        "values: float64 bit for bit equal, its own dtypes bit for bit equal; with inputs 1000 times as large and with "
        "parameters 8 times as large and with inputs of zeros and with inputs and parameters of zeros, too"
    )


@pytest.mark.parametrize("factor", [1e-6, 1e-9, 1e-11])
def test_a_small_relative_error_fails_in_float64(factor):
    outcome = compare_outputs(comparison(plain, lambda w, x: plain(w, x) * (1 + factor)))
    assert not outcome.agree
    assert "float64, tolerance 1e-12" in outcome.text


def test_rounding_agrees():
    outcome = compare_outputs(comparison(lambda w, x: (w + 0.1 * x) + 0.7, lambda w, x: w + (0.1 * x + 0.7)))
    assert outcome.agree


def test_accuracy_that_is_lost_in_the_own_dtype_alone_fails():
    def narrow(w, x):
        return plain(w, x) if w.dtype == jnp.float64 else plain(w.astype(jnp.bfloat16), x).astype(w.dtype)

    outcome = compare_outputs(comparison(plain, narrow))
    assert not outcome.agree
    assert "where the original has" in outcome.text


def test_a_model_that_casts_to_float32_is_compared_with_the_tolerance_of_float32():
    def single(w, x):
        return jnp.sin((w * x).astype(jnp.float32)) + x

    outcome = compare_outputs(comparison(single, lambda w, x: single(w, x) * (1 + 1e-9)))
    assert outcome.agree
    assert "(tolerance 1.5e-05)" in outcome.text
    assert not compare_outputs(comparison(single, lambda w, x: single(w, x) * (1 + 1e-3))).agree


def test_a_model_that_casts_to_bfloat16_is_compared_in_its_own_dtypes_only():
    def half(w, x):
        return jnp.sin((w * x).astype(jnp.bfloat16)).astype(x.dtype) + x

    outcome = compare_outputs(comparison(half, half))
    assert outcome.agree
    assert "not in float64: it computes in less than float32" in outcome.text
    assert not compare_outputs(comparison(half, lambda w, x: half(w, x) + 0.1)).agree


def test_a_model_that_cannot_run_in_float64_is_compared_in_its_own_dtypes_only():
    def strict(w, x):
        if w.dtype != jnp.float32:
            raise TypeError("float32 only")
        return plain(w, x)

    outcome = compare_outputs(comparison(strict, strict))
    assert outcome.agree
    assert "its own dtypes bit for bit equal (not in float64: TypeError: float32 only)" in outcome.text
    assert not compare_outputs(comparison(strict, lambda w, x: strict(w, x) * 1.001)).agree


def test_a_wrong_derivative_of_the_right_function_fails():
    @jax.custom_vjp
    def sine(x):
        return jnp.sin(x)

    sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) * (1 + 1e-7),))
    case = comparison(lambda w, x: jnp.sin(w * x), lambda w, x: sine(w * x))
    assert compare_outputs(case).agree
    outcome = compare_gradients(case)
    assert not outcome.agree
    assert outcome.text.startswith("vjp: float64")
    assert "the gradient of w[" in outcome.text or "the gradient of x[" in outcome.text


@pytest.mark.parametrize("limit", [5.0, 100.0])
def test_a_rule_that_clips_larger_cotangents_fails(limit):
    def clipped(limit):
        @jax.custom_vjp
        def same(x):
            return x

        same.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -limit, limit),))
        return lambda w, x: same(w * x)

    found = compare_gradients(comparison(clipped(limit), clipped(2 * limit)))
    assert not found.agree
    assert found.text.startswith("vjp with cotangents 1000 times as large: float64")
    found = compare_gradients(comparison(clipped(limit), clipped(limit)))
    assert found.agree
    assert "; vjp with cotangents 1000 times as large: float64 bit for bit equal" in found.text


def test_nan_in_both_versions_agrees_and_in_one_fails():
    def root(w, x):
        return jnp.sqrt(x - 1.1 * w)

    assert compare_outputs(comparison(root, root)).agree
    assert not compare_outputs(comparison(root, lambda w, x: jnp.nan_to_num(root(w, x)))).agree


def test_a_model_that_vmap_does_not_support_is_told():
    def unbatched(w, x):
        return jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(w.shape, w.dtype), w * x)

    outcome = compare_batched(comparison(unbatched, unbatched), Nest((Batch((1,)),)))
    assert not outcome.ran
    assert "vmap: nothing was compared, as the original raised NotImplementedError" in outcome.text


def test_what_the_rewritten_version_alone_raises_fails():
    def broken(w, x):
        raise ValueError("no such thing")

    outcome = compare_outputs(comparison(plain, broken))
    assert not outcome.agree
    assert "the rewritten version raised ValueError: no such thing" in outcome.text


def test_parameters_that_are_equal_are_made_to_differ():
    """`w` of ones hides a wrong order; the perturbed one does not."""
    built = [
        build(lambda f=f: (Model(jnp.ones(6), f), (jnp.ones(6),)), abstract=False)
        for f in (lambda w, x: w * x, lambda w, x: w[::-1] * x)
    ]
    both = pair(*built)
    case = Comparison(both.before, both.after, both.leaves, both.found.names, ("output",), (0,), None)
    assert not compare_outputs(case).agree


def test_a_wrong_tangent_of_the_right_function_fails():
    @jax.custom_jvp
    def sine(x):
        return jnp.sin(x)

    sine.defjvp(lambda x, t: (jnp.sin(x[0]), t[0] * jnp.cos(x[0]) * (1 + 1e-7)))
    case = comparison(lambda w, x: jnp.sin(w * x), lambda w, x: sine(w * x))
    assert compare_outputs(case).agree
    outcome = compare_tangents(case)
    assert not outcome.agree
    assert outcome.text.startswith("jvp: float64, tolerance 1e-12: relative difference 1e-07 at the tangent of output[")


def test_what_differs_under_vmap_alone_fails():
    same = jax.custom_batching.custom_vmap(lambda x: x)
    same.def_vmap(lambda size, batched, x: (x * (1 + 1e-7), True))
    case = comparison(plain, lambda w, x: plain(w, same(x)))
    assert compare_outputs(case).agree
    outcome = compare_batched(case, Nest((Batch((1,)),)))
    assert not outcome.agree
    assert outcome.text.startswith("vmap: float64, tolerance 1e-12")


def test_values_that_perturbing_makes_nan_are_taken_as_they_are_and_it_is_told():
    def unit(w, x):
        return jnp.sqrt(1.5 - w) + x  # `w` goes up to 1.5

    outcome = compare_outputs(comparison(unit, unit))
    assert outcome.agree
    assert outcome.text.endswith("; with the values of the case, as perturbed ones give NaN")


def masked(body, *, size=6):
    """A comparison of `body(x, mask)` with one that is given a mask of its own, all true as that of the case."""
    cases = [
        lambda f=f: (Model(jnp.linspace(0.5, 1.5, size), f), (jnp.ones(size, bool),))
        for f in (body, lambda x, mask: body(x, jnp.ones_like(mask)))
    ]
    both = pair(*(build(case, abstract=False) for case in cases))
    traced = trace(both.before, both.avals)
    return Comparison(
        both.before, both.after, both.leaves, both.found.names, traced.outputs.names, traced.outputs.inexact, None
    )


def test_a_mask_that_is_true_everywhere_does_not_hide_that_it_is_lost():
    assert not compare_outputs(masked(lambda x, mask: jnp.where(mask, x, 0.0))).agree


def test_a_single_bool_stays_as_it_is():
    assert compare_outputs(masked(lambda x, mask: jnp.where(mask, x, 0.0), size=1)).agree


def test_bools_that_make_nan_where_they_change_are_taken_as_they_are():
    outcome = compare_outputs(masked(lambda x, mask: jnp.where(mask, x, jnp.nan)))
    assert outcome.agree
    assert "as perturbed ones give NaN" not in outcome.text  # the other leaves are perturbed all the same
