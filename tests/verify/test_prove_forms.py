"""Spellings of one value: each pair needs a rule, and each near miss is what a wrong version of it would let through."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from scanify.verify.proof.prove import Proof, prove


def own(file: str) -> str | None:
    """Files of the tests are the user's source."""
    return Path(file).name if Path(file).parent == Path(__file__).parent else None


def same(before: Any, after: Any, *inputs: Any) -> Proof:
    return prove(jax.make_jaxpr(before)(*inputs), jax.make_jaxpr(after)(*inputs), files=own)


# Normal forms: each pair needs one rule, each near miss is what a wrong version of it would let through ---------------


X = (jnp.arange(12.0) * 0.37 + 0.1).reshape(4, 3).at[3, 0].set(-0.0)

PAIRS: dict[str, tuple[Any, Any, Any]] = {
    "stack, then index": (lambda x: jnp.stack([x, x + 1, x * 2])[1], lambda x: x + 1, lambda x: x * 2),
    "rows stacked again": (lambda x: jnp.stack([x[i] for i in range(4)]), lambda x: x, lambda x: x[::-1]),
    "stack along axis 1": (
        lambda x: jnp.stack([x, x + 1], axis=1),
        lambda x: jnp.moveaxis(jnp.stack([x, x + 1]), 0, 1),
        lambda x: jnp.stack([x + 1, x], axis=1),
    ),
    "chunks": (
        lambda x: jnp.concatenate([x, x + 1]).reshape(4, 2, 3)[2, 1],
        lambda x: (x + 1)[1],
        lambda x: (x + 1)[0],
    ),
    "chunks put together": (lambda x: x.reshape(2, 2, 3).reshape(4, 3)[3], lambda x: x[3], lambda x: x[2]),
    "row of chunks": (lambda x: x.reshape(2, 2, 3)[1, 0], lambda x: x[2], lambda x: x[1]),
    "two transposes": (lambda x: x.T.T, lambda x: x, lambda x: x.reshape(3, 4).T),
    "row of a transpose": (lambda x: x.T[1], lambda x: x[:, 1], lambda x: x[:, 2]),
    "dynamic index": (
        lambda x: lax.dynamic_index_in_dim(x, jnp.int32(2), keepdims=False),
        lambda x: x[2],
        lambda x: x[1],
    ),
    "negative index": (lambda x: x[jnp.int32(-1)], lambda x: x[3], lambda x: x[1]),
    "take of constant rows": (lambda x: x[jnp.array([2, 0])], lambda x: jnp.stack([x[2], x[0]]), lambda x: x[::2]),
    "row set": (lambda x: x.at[1].set(7.0)[1:3][1], lambda x: x[2], lambda x: x[3]),
    "row updated in place": (
        lambda x: lax.dynamic_update_slice(x, x[:1] + 1, (2, 0)),
        lambda x: jnp.concatenate([x[:2], x[:1] + 1, x[3:]]),
        lambda x: jnp.concatenate([x[:1], x[:1] + 1, x[2:]]),
    ),
    "padding": (
        lambda x: jnp.pad(x, ((1, 2), (0, 0)))[1:5],
        lambda x: x,
        lambda x: jnp.pad(x, ((2, 1), (0, 0)))[1:5],
    ),
    "broadcast row": (
        lambda x: jnp.broadcast_to(x[0], (4, 3))[2],
        lambda x: x[0],
        lambda x: jnp.broadcast_to(x, (2, 4, 3))[0, 1],
    ),
    "repeated row": (lambda x: jnp.stack([x[0]] * 3), lambda x: jnp.broadcast_to(x[0], (3, 3)), lambda x: x[:3]),
    "flip": (lambda x: jnp.flip(x, 0)[0], lambda x: x[3], lambda x: x[0]),
    "cast stack": (
        lambda x: jnp.stack([x, x + 1]).astype(jnp.float16)[1],
        lambda x: (x + 1).astype(jnp.float16),
        lambda x: x.astype(jnp.float16) + 1,
    ),
    "split": (lambda x: jnp.split(x, 2)[1], lambda x: x[2:], lambda x: x[:2]),
    "unit axes": (lambda x: x[:, None, :, None].squeeze(), lambda x: x, lambda x: x[:, ::-1]),
    "scan in reverse": (
        lambda x: lax.scan(lambda c, r: (c * 2 + r, c), x[0], x, reverse=True)[1][0],
        lambda x: ((x[0] * 2 + x[3]) * 2 + x[2]) * 2 + x[1],
        lambda x: ((x[0] * 2 + x[0]) * 2 + x[1]) * 2 + x[2],
    ),
    "index from a scanned range": (
        lambda x: lax.scan(lambda c, i: (c + x[i], None), x[0], jnp.arange(3))[0],
        lambda x: x[0] + x[0] + x[1] + x[2],
        lambda x: x[0] + x[0] + x[1] + x[3],
    ),
    "branch of a known index": (
        lambda x: lax.cond(jnp.int32(2) > 1, jnp.sin, jnp.cos, x),
        jnp.sin,
        jnp.cos,
    ),
    "branches that agree": (
        lambda x: lax.cond(x[0, 0] > 0, lambda y: y + 1, lambda y: jax.jit(lambda z: z + 1)(y), x),
        lambda x: x + 1,
        lambda x: x + 2,
    ),
    "choice of equal values": (lambda x: jnp.where(x > 0, x, x), lambda x: x, lambda x: jnp.where(x > 0, x, -x)),
    "jit": (lambda x: jax.jit(lambda y: y * 2)(x), lambda x: x * 2, lambda x: x * 3),
    "custom derivative": (jax.nn.relu, lambda x: jnp.maximum(x, 0.0), lambda x: jnp.maximum(x, 1.0)),
    "rounding to own precision": (
        lambda x: lax.reduce_precision(x, 8, 23),
        lambda x: x,
        lambda x: lax.reduce_precision(x, 8, 7),
    ),
    "transpose of a repeated row": (
        lambda x: jnp.broadcast_to(x[:, 0], (3, 4)).T,
        lambda x: jnp.stack([x[:, 0]] * 3, axis=1),
        lambda x: jnp.stack([x[:, 0], x[:, 0], x[:, 1]], axis=1),
    ),
    "row of a choice": (
        lambda x: lax.cond(x[0, 0] > 0, lambda: jnp.stack([x[0], x[1]]), lambda: x[:2] * 2)[1],
        lambda x: lax.cond(x[0, 0] > 0, lambda: x[1], lambda: (x[:2] * 2)[1]),
        lambda x: lax.cond(x[0, 0] > 0, lambda: x[0], lambda: (x[:2] * 2)[1]),
    ),
    "name for a policy": (lambda x: checkpoint_name(x, "a") * 2, lambda x: x * 2, lambda x: x),
    "zeros and reductions": (
        lambda x: jnp.zeros((4, 3)).sum(0) + x,
        lambda x: jnp.zeros(3) + x,
        lambda x: jnp.full(3, -0.0) + x,
    ),
    "scan of length 0": (lambda x: lax.scan(lambda c, r: (c + r, r), x[0], x[:0])[0], lambda x: x[0], lambda x: x[1]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_spellings_of_a_value_are_proved_and_a_near_miss_is_not(name: str) -> None:
    one, other, miss = PAIRS[name]
    np.testing.assert_allclose(one(X), other(X), rtol=1e-6)
    assert same(one, other, X).proved
    assert np.asarray(one(X)).tobytes() != np.asarray(miss(X)).tobytes(), "the near miss must be wrong"
    assert not same(one, miss, X).proved


NEVER = {
    "zero times x": (lambda x: x * 0.0, lambda x: jnp.zeros_like(x)),
    "x plus zero": (lambda x: x + 0.0, lambda x: x),
    "minus zero": (lambda x: x * -0.0, lambda x: x * 0.0),
    "sum in another order": (lambda x: (x[0] + x[1]) + x[2], lambda x: x[0] + (x[1] + x[2])),
    "boolean for a number": (lambda x: x + True, lambda x: x + 1.5),
    "another axis": (lambda x: x[:3].sum(0), lambda x: x[:3].sum(1)),
    "x minus x": (lambda x: x - x, lambda x: jnp.zeros_like(x)),
    "round trip through a smaller dtype": (lambda x: x.astype(jnp.float16).astype(jnp.float32), lambda x: x),
    "clamped index": (lambda x: lax.dynamic_slice(x, (3, 0), (2, 3)), lambda x: jnp.concatenate([x[3:], x[:1]])),
}


@pytest.mark.parametrize("name", NEVER)
def test_what_is_not_the_same_bit_for_bit_is_never_proved(name: str) -> None:
    assert not same(*NEVER[name], X).proved
