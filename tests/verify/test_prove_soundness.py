"""Soundness by itself: random programs, equal and nearly equal, with their numbers as the oracle.

Two programs are drawn as lists of steps. The second spells the same steps otherwise (a scan for a loop, a stack of slices for an
index, a jit around a sum) and, in half of the cases, changes one of them. Whatever is PROVED must agree numerically.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from scanify.verify.proof.prove import prove

N, D = 4, 3
X = jnp.asarray(np.random.default_rng(0).normal(size=(N, D)).astype(np.float32))
W = jnp.asarray(np.random.default_rng(1).normal(size=(N, D)).astype(np.float32))

UNARY: list[Callable[[Any], Any]] = [jnp.sin, jnp.cos, jnp.tanh, jnp.negative, lambda x: x * 0.0, lambda x: x + 0.0]
BINARY: list[Callable[[Any, Any], Any]] = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum]
ORDERS = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [0, 1, 1, 3], [0, 2, 2, 3]]

# A step: what it does to (x, w), chosen by three numbers, in the spelling of a loop or of a scan.
Step = tuple[int, int, int, int]


def apply(step: Step, x: Any, w: Any, other: bool) -> Any:
    kind, a, b, c = step
    unary, binary, order = UNARY[a % len(UNARY)], BINARY[b % len(BINARY)], ORDERS[c % len(ORDERS)]
    i, j = a % N, b % N
    return STEPS[kind % len(STEPS)](x, w, other, unary, binary, order, i, j)


def _map(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    return jax.jit(lambda x, w: binary(unary(x), w))(x, w) if other else binary(unary(x), w)


def _fold(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    rows = [w[k] for k in order]
    if other:
        return lax.scan(lambda c, r: (unary(binary(c, r)), None), x, jnp.stack(rows))[0]
    for r in rows:
        x = unary(binary(x, r))
    return x


def _collect(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    if other:
        return lax.scan(lambda c, r: (binary(c, r), unary(c)), x[i], w, reverse=j == 1)[1]
    c, outs = x[i], [None] * N
    for k in range(N)[:: -1 if j == 1 else 1]:
        outs[k] = unary(c)
        c = binary(c, w[k])
    return jnp.stack(outs)


def _chunks(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    if other:
        inner = lambda c, rows: lax.scan(lambda c, r: (binary(c, r), None), c, rows)  # noqa: E731
        return lax.scan(inner, x, w.reshape(2, 2, D))[0]
    for k in range(N):
        x = binary(x, w[k])
    return x


def _permute(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    if other:
        return x[jnp.array(order)]
    return jnp.concatenate([lax.slice_in_dim(x, k, k + 1) for k in order])


def _replace(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    if other:
        return lax.dynamic_update_slice_in_dim(x, unary(w[j])[None], jnp.int32(i), 0)
    return jnp.stack([unary(w[j]) if k == i else x[k] for k in range(N)])


def _turn(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    if other:
        return binary(x, jnp.stack([w.T[:, k] for k in range(N)]))
    return binary(x, w)


def _branch(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    yes, no = (lambda: unary(x)), (lambda: binary(x, w))
    if other:
        return lax.cond(jnp.int32(i) > jnp.int32(j), yes, no)
    return yes() if i > j else no()


def _gradient(x: Any, w: Any, other: bool, unary: Any, binary: Any, order: Any, i: int, j: int) -> Any:
    # With respect to x too, as the verifier asks: where the first carry is not differentiated, the loop transposes the first
    # subtraction to -sum(ct) and the scan to sum(-ct), which differ in the sign of a zero.
    by_x, by_w = jax.vjp(lambda x, w: _fold(x, w, other, unary, binary, order, i, j), x, w)[1](x)
    return by_x * by_w


STEPS = [_map, _fold, _collect, _chunks, _permute, _replace, _turn, _branch, _gradient]
STEP = st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 11), st.integers(0, 11), st.integers(0, 9))


def program(steps: list[Step], other: bool) -> Callable[[Any, Any], Any]:
    def run(x: Any, w: Any) -> Any:
        for step in steps:
            x = apply(step, x, w, other)
        return x

    return run


@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEP, min_size=1, max_size=3), st.data())
def test_nothing_is_proved_that_differs_and_equal_spellings_are_proved(steps: list[Step], data: Any) -> None:
    changed = list(steps)
    if data.draw(st.booleans()):
        position = data.draw(st.integers(0, len(steps) - 1))
        changed[position] = data.draw(STEP)
    before, after = program(steps, False), program(changed, True)
    proof = prove(jax.make_jaxpr(before)(X, W), jax.make_jaxpr(after)(X, W))
    if changed == steps:
        assert proof.proved, proof.difference
    if proof.proved and changed != steps:  # equal steps agree by construction
        with jax.disable_jit():
            np.testing.assert_allclose(before(X, W), after(X, W), rtol=1e-4, atol=1e-5)
    assert proof.proved or proof.difference is not None


@pytest.mark.parametrize("kind", range(len(STEPS)), ids=[step.__name__[1:] for step in STEPS])
def test_each_step_is_proved_in_both_spellings(kind: int) -> None:
    for choice in range(5):
        step = (kind, choice, choice + 1, choice)
        assert prove(
            jax.make_jaxpr(program([step], False))(X, W), jax.make_jaxpr(program([step], True))(X, W)
        ).proved, step
