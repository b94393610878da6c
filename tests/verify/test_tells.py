"""What the numeric test does not let pass: coarse dtypes, masks, flags, integers beyond the case, and nothing at all."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scanify.verify.verdict import Status
from tests.verify.functions import Function, outputs

W = jax.random.normal(jax.random.key(1), (3, 6, 6)) * 0.4
X = jax.random.normal(jax.random.key(0), (6,))
TABLE = jax.random.normal(jax.random.key(3), (8, 6))


def chain(w: Any, x: Any, order: tuple[int, ...] = (0, 1, 2)) -> Any:
    for at in order:
        x = x + jnp.tanh(w[at].astype(x.dtype) @ x)
    return x


def cast(order: tuple[int, ...], dtype: Any, scale: float = 1.0) -> Function:
    return lambda w, x: (scale * chain(w, x.astype(dtype), order)).astype(jnp.float32)


def masked(order: tuple[int, ...], value: float) -> Function:
    return lambda w, x: jnp.where(jnp.arange(6) < 4, chain(w, x, order), value)


def beside(order: tuple[int, ...]) -> Function:
    return lambda w, x: jnp.concatenate([chain(w, x, order), 1e13 * x])


def with_flag(order: tuple[int, ...]) -> Function:
    return lambda w, x, flag: jax.lax.cond(flag, lambda: chain(w, x), lambda: chain(w, x, order))


def scheduled(late: float) -> Function:
    return lambda w, x, step: chain(w, x) * jnp.where(step < 1000, 1.0, late)


def padded(pad: float) -> Function:
    return lambda table, tokens: jnp.sum(jnp.where((tokens != 0)[:, None], table[tokens], pad), 0)


TRUE, STEP, TOKENS = jnp.array(True), jnp.int32(0), jnp.array([1, 4, 2, 5])
RIGHT, WRONG = (0, 1, 2), (1, 0, 2)
DIFFER: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "bfloat16 in another order": (cast(RIGHT, jnp.bfloat16), cast(WRONG, jnp.bfloat16), (W, X)),
    "bfloat16 without a layer": (cast(RIGHT, jnp.bfloat16), cast((0, 1), jnp.bfloat16), (W, X)),
    "float16 of half the size": (cast(RIGHT, jnp.float16), cast(RIGHT, jnp.float16, 0.5), (W, X)),
    "beside a mask": (masked(RIGHT, -1e9), masked(WRONG, -1e9), (W, X)),
    "beside the smallest float": (masked(RIGHT, -3e38), masked(WRONG, -3e38), (W, X)),
    "beside large values": (beside(RIGHT), beside(WRONG), (W, X)),
    "a flag that is always set": (with_flag(WRONG), with_flag(RIGHT), (W, X, TRUE)),
    "a step that is never reached": (scheduled(0.1), scheduled(1.0), (W, X, STEP)),
    "a token that never comes": (padded(0.0), padded(1.0), (TABLE, TOKENS)),
    "only which is the largest": (lambda w, x: jnp.argmax(chain(w, x)), lambda w, x: jnp.argmax(-x), (W, X)),
    # with a mask in a coarse dtype
    "a mask in bfloat16": (
        lambda w, x: masked(RIGHT, -1e4)(w, x.astype(jnp.bfloat16)),
        lambda w, x: masked(WRONG, -1e4)(w, x.astype(jnp.bfloat16)),
        (W, X),
    ),
}


@pytest.mark.parametrize("name", DIFFER)
def test_it_is_seen(name: str) -> None:
    before, after, arguments = DIFFER[name]
    assert outputs(before, after, *arguments).status is Status.FAILED


def raising(order: tuple[int, ...]) -> Function:
    import equinox as eqx

    return lambda w, x: chain(w, eqx.error_if(x, jnp.all(x < 100), "always"), order)


def traced_only(order: tuple[int, ...]) -> Function:
    """As a host function that is given no number that it can use."""

    def host(x: Any) -> Any:
        raise ValueError("no such table")

    def run(w: Any, x: Any) -> Any:
        return chain(w, x, order) + jax.pure_callback(host, x, x)

    return run


def beside_mask(order: tuple[int, ...]) -> Function:
    return lambda w, x: jnp.where(jnp.arange(6) < 4, raising(order)(w, x), -1e9)


NOTHING: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "all is NaN": (chain, lambda w, x: chain(w, x, WRONG), (W * jnp.nan, X)),
    "all is infinite": (lambda w, x: chain(w, x) * 0 + jnp.inf, lambda w, x: chain(w, x, WRONG) * 0 + jnp.inf, (W, X)),
    "the original raises": (raising(RIGHT), raising(WRONG), (W, X)),
    "the original raises under jit": (traced_only(RIGHT), traced_only(WRONG), (W, X)),
    "the original raises beside a mask": (beside_mask(RIGHT), beside_mask(WRONG), (W, X)),
    "always the same": (lambda w, x: chain(w, x) > -99, lambda w, x: chain(w, x, WRONG) > -99, (W, X)),
}


@pytest.mark.parametrize("name", NOTHING)
def test_where_nothing_can_be_seen_nothing_is_tested(name: str) -> None:
    before, after, arguments = NOTHING[name]
    assert outputs(before, after, *arguments).status is Status.NOT_RUN


def halves(w: Any, x: Any) -> Any:
    return chain(w.astype(jnp.bfloat16), x.astype(jnp.bfloat16)).astype(jnp.float32)


def in_halves(w: Any, x: Any) -> Any:
    x = x.astype(jnp.bfloat16)
    for at in range(3):
        x = x + jnp.tanh(sum(w[at].astype(jnp.bfloat16)[:, i : i + 2] @ x[i : i + 2] for i in (0, 2, 4)))
    return x.astype(jnp.float32)


AGREE: dict[str, tuple[Function, Function, tuple[Any, ...]]] = {
    "weights in bfloat16": (halves, in_halves, (W, X)),
    "bfloat16 in float32": (
        lambda w, x: chain(w, x) + (x.astype(jnp.bfloat16) * 3).astype(x.dtype),
        lambda w, x: chain(w, x) + (x.astype(jnp.bfloat16) + x.astype(jnp.bfloat16) * 2).astype(x.dtype),
        (W, X),
    ),
    "float32 in bfloat16": (
        lambda w, x: x + x.astype(jnp.float32).sum().astype(x.dtype),
        lambda w, x: x.astype(jnp.float32)[::-1].sum().astype(x.dtype) + x,
        (W, X.astype(jnp.bfloat16)),
    ),
    # with a mask
    "a mask in bfloat16": (
        lambda w, x: jnp.where(x > 0, halves(w, x), -1e9),
        lambda w, x: jnp.where(x > 0, in_halves(w, x), -1e9),
        (W, X),
    ),
}


@pytest.mark.parametrize("name", AGREE)
def test_what_coarse_dtypes_do_is_no_difference(name: str) -> None:
    before, after, arguments = AGREE[name]
    assert outputs(before, after, *arguments).status is Status.TESTED


def test_what_rounding_does_among_small_values_is_no_difference() -> None:
    one = lambda w, x: jnp.concatenate([chain(w, x) - chain(w, x), 1e6 * x, chain(w, x)])  # noqa: E731
    other = lambda w, x: jnp.concatenate([chain(w, x) * 0, 1e6 * x * 3 / 3, chain(w, x) * 3 / 3])  # noqa: E731
    assert outputs(one, other, W, X).status is Status.TESTED
