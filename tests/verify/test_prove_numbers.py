"""Primitives that compute with numbers.

Each case: the body of a layer, a near miss, the primitives it is about, whether reverse mode goes through it.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.verify.layered import Body, Case, check_gradients, check_outputs, compared


def _window(pad: str) -> Body:
    return lambda x, w: (
        x * lax.reduce_window(w, -np.inf, lax.max, (2, 2), (1, 1), "SAME")
        + (lax.reduce_window(w, 0.0, lax.add, (2, 1), (1, 1), pad).sum())
    )


def _conv(stride: int, dilation: int = 1) -> Body:
    def body(x: Any, w: Any) -> Any:
        out = lax.conv_general_dilated(
            x[None],
            w[:, :1, None].transpose(0, 2, 1),
            (stride,),
            "SAME",
            rhs_dilation=(dilation,),
            feature_group_count=3,
            dimension_numbers=("NCH", "OIH", "NCH"),
        )
        return jnp.broadcast_to(out[0, :, :1], x.shape) + w

    return body


def _ragged(sizes: tuple[int, int]) -> Body:
    return lambda x, w: x + lax.ragged_dot(x, jnp.stack([w.T @ x, x.T @ w]), jnp.array(sizes))


CASES: dict[str, Case] = {
    "dot": (lambda x, w: x @ w.T @ w, lambda x, w: w @ x.T @ w, ("dot_general",), True),
    "precision of a dot": (
        lambda x, w: lax.dot(x, w.T, precision="highest") @ w,
        lambda x, w: lax.dot(x, w.T) @ w,
        ("dot_general",),
        True,
    ),
    "einsum": (
        lambda x, w: jnp.einsum("ij,kj,kl->il", x, w, w),
        lambda x, w: jnp.einsum("ij,kj,kl->il", w, x, w),
        ("dot_general",),
        True,
    ),
    "ragged dot": (_ragged((1, 2)), _ragged((2, 1)), ("ragged_dot_general",), False),
    "convolution": (_conv(1), _conv(2), ("conv_general_dilated",), True),
    "dilation": (_conv(1), _conv(1, 2), ("conv_general_dilated",), True),
    "argmax": (lambda x, w: x + jnp.argmax(w, 0), lambda x, w: x + jnp.argmin(w, 0), ("argmax",), False),
    "cumsum": (lambda x, w: x + lax.cumsum(w), lambda x, w: x + lax.cumsum(w, reverse=True), ("cumsum",), True),
    "cumprod": (lambda x, w: x + lax.cumprod(w), lambda x, w: x + lax.cumprod(w, 1), ("cumprod",), True),
    "cummax": (lambda x, w: x + lax.cummax(w), lambda x, w: x + lax.cummin(w), ("cummax",), True),
    "cumlogsumexp": (
        lambda x, w: x + lax.cumlogsumexp(w),
        lambda x, w: x + lax.cumlogsumexp(w, axis=1),
        ("cumlogsumexp",),
        True,
    ),
    "reductions": (
        lambda x, w: x * w.max(0) - w.prod(1, keepdims=True) + (w > 0).any() + (x > 0).all(),
        lambda x, w: x * w.min(0) - w.prod(1, keepdims=True) + (w > 0).any() + (x > 0).all(),
        ("reduce_max", "reduce_prod", "reduce_or", "reduce_and"),
        True,
    ),
    "reduce window": (_window("SAME"), _window("VALID"), ("reduce_window_max", "reduce_window_sum"), True),
    "reduce_precision": (
        lambda x, w: lax.reduce_precision(x * w, 8, 10),
        lambda x, w: lax.reduce_precision(x * w, 8, 12),
        ("reduce_precision",),
        True,
    ),
    "clamp": (lambda x, w: lax.clamp(-0.5, x, 0.5) * w, lambda x, w: lax.clamp(-0.5, x, 0.6) * w, ("clamp",), True),
    "select": (lambda x, w: jnp.where(x > 0, x, w), lambda x, w: jnp.where(x > 0, w, x), ("select_n",), True),
    "integer_pow": (lambda x, w: x**3 * w, lambda x, w: x**2 * w, ("integer_pow",), True),
    "complex": (
        lambda x, w: jnp.fft.ifft(jnp.fft.fft(x) * w).real,
        lambda x, w: jnp.fft.ifft(jnp.fft.fft(x) * w).imag,
        ("fft", "real"),
        True,
    ),
    "linear algebra": (
        lambda x, w: x + jnp.linalg.cholesky(w @ w.T + 9 * jnp.eye(3)).sum(),
        lambda x, w: x + jnp.linalg.cholesky(w @ w.T + 8 * jnp.eye(3)).sum(),
        ("cholesky",),
        True,
    ),
    "triangular solve": (
        lambda x, w: jax.scipy.linalg.solve_triangular(w[:, :3] + 4 * jnp.eye(3), x, lower=True),
        lambda x, w: jax.scipy.linalg.solve_triangular(w[:, :3] + 4 * jnp.eye(3), x, lower=False),
        ("triangular_solve",),
        True,
    ),
    "solve": (
        lambda x, w: jnp.linalg.solve(w[:, :3] + 4 * jnp.eye(3), x),
        lambda x, w: jnp.linalg.solve(w[:, 1:] + 4 * jnp.eye(3), x),
        ("lu", "custom_linear_solve"),
        True,
    ),
    "special functions": (
        lambda x, w: lax.erf(x) + lax.lgamma(w) + jax.nn.gelu(x * w) + jax.nn.softmax(x),
        lambda x, w: lax.erf(x) + lax.lgamma(w) + jax.nn.silu(x * w) + jax.nn.softmax(x),
        ("erf", "lgamma"),
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stack_of_layers_is_proved_and_a_near_miss_is_not(name: str) -> None:
    check_outputs(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_the_gradients_of_a_stack_are_proved_and_those_of_a_near_miss_are_not(name: str) -> None:
    check_gradients(CASES[name])


ELEMENTWISE = (
    "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv erfc exp exp2 expm1 "
    "floor is_finite lgamma log log1p logistic neg round rsqrt sign sin sinh sqrt square tan tanh"
).split()


# Sums, products and comparisons of two numbers are the same either way round, bit by bit (IEEE 754, 6.1).
COMMUTATIVE = frozenset("add mul eq ne".split())
BINARY = "add atan2 div max min mul nextafter pow rem sub eq ge gt le lt ne igamma igammac".split()


def test_functions_of_each_element_are_told_apart_by_name() -> None:
    for names, arguments in ((ELEMENTWISE, 1), (BINARY, 2)):
        bodies = [_elementwise(name, arguments) for name in names]
        for body, miss in zip(bodies, [*bodies[1:], bodies[0]], strict=True):
            assert compared(body, body).proved and not compared(body, miss).proved
            if arguments == 2:
                assert compared(body, lambda x, w, f=body: f(w, x)).proved is (body.__name__ in COMMUTATIVE)


def _elementwise(name: str, arguments: int) -> Body:
    function: Any = getattr(lax, name)

    def body(x: Any, w: Any) -> Any:
        return x * w + function(*(w, x)[:arguments]).astype(jnp.float32)

    body.__name__ = name
    return body
