"""Products of two factors in either order, laid out in one way or another; and near misses."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.verify.certificate.write import Certificate, Proved
from scanify.verify.proof.prove import prove

Q, K = (jnp.sin(jnp.arange(40.0) * scale).reshape(5, 2, 4) for scale in (1.0, 2.0))
X, Y = Q[:, 0], K[:4, 1]  # (5, 4) and (4, 4)
Function = Callable[[Any, Any], Any]


def _attention(q: Any, k: Any) -> Any:
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.einsum("qhd,khd->hqk", q, k)), k)


def _heads(q: Any, k: Any) -> Any:
    return jax.vmap(lambda q, k: jax.nn.softmax(q @ k.T) @ k, in_axes=1, out_axes=1)(q, k)


def _product(one: Any, other: Any, axes: Any, precision: Any = None) -> Any:
    return lax.dot_general(one, other, axes, precision=precision)


EQUAL: dict[str, tuple[Function, Function, Any, Any]] = {
    "transposes": (lambda x, y: x @ y, lambda x, y: (y.T @ x.T).T, X, Y),
    "an einsum the other way round": (
        lambda q, k: jnp.einsum("qhd,khd->hqk", q, k),
        lambda q, k: jnp.einsum("khd,qhd->hqk", k, q),
        *(Q, K),
    ),
    "attention by einsum and by head": (_attention, _heads, Q, K),
    "a factor with itself": (
        lambda q, k: jnp.einsum("qhd,khd->hqk", q, q),
        lambda q, k: jax.vmap(lambda q: q @ q.T, in_axes=1)(q),
        *(Q, K),
    ),
    "in each layer of a scan": (
        lambda x, y: lax.scan(lambda c, w: (jnp.tanh(c @ w), None), x, jnp.stack([y, 2 * y]))[0],
        lambda x, y: jnp.tanh((2 * y).T @ jnp.tanh(y.T @ x.T)).T,
        *(X, Y),
    ),
    "one precision for both": (
        lambda x, y: _product(x, y, (((1,), (0,)), ((), ())), ("high", "high")),
        lambda x, y: _product(y, x, (((0,), (1,)), ((), ())), ("high", "high")).T,
        *(X, Y),
    ),
}
NOT_EQUAL: dict[str, tuple[Function, Function, Any, Any]] = {
    "factors in another order": (lambda x, y: x[:4] @ y, lambda x, y: y @ x[:4], X, Y),
    "the result turned": (lambda x, y: x[:4] @ y, lambda x, y: (x[:4] @ y).T, X, Y),
    "a factor with itself turned": (lambda x, y: y @ y, lambda x, y: (y @ y).T, X, Y),
    "queries for keys": (
        lambda q, k: jnp.einsum("qhd,khd->hqk", q, k),
        lambda q, k: jnp.einsum("qhd,khd->hqk", k, q),
        *(Q, K),
    ),
    "the precisions of the factors": (
        lambda x, y: _product(x, y, (((1,), (0,)), ((), ())), ("high", "default")),
        lambda x, y: _product(y, x, (((0,), (1,)), ((), ())), ("high", "default")).T,
        *(X, Y),
    ),
    "the order of a sum over two axes": (
        lambda q, k: _product(q[:2], k[:2], (((0, 1), (1, 0)), ((), ()))),
        lambda q, k: _product(q[:2], k[:2], (((0, 1), (0, 1)), ((), ()))),
        *(Q, K),
    ),
}


def _traced(pair: tuple[Function, Function, Any, Any], gradients: bool = False) -> tuple[Any, Any]:
    x, y = pair[2:]
    if not gradients:
        return tuple(jax.make_jaxpr(f)(x, y) for f in pair[:2])  # type: ignore[return-value]
    result = pair[0](x, y)
    np.testing.assert_allclose(result, pair[1](x, y), rtol=1e-5, atol=1e-6)
    pulled = [jax.make_jaxpr(lambda x, y, g, f=f: jax.vjp(f, x, y)[1](g))(x, y, result) for f in pair[:2]]
    return pulled[0], pulled[1]


def _replayed(first: Any, second: Any) -> bool:
    certificate = Certificate("case")
    certificate.add(Proved("outputs", first, second, 0, 0))
    return bool(certificate.written()["checks"])


@pytest.mark.parametrize("name", EQUAL)
def test_a_product_is_the_same_in_either_order_of_its_factors(name: str) -> None:
    assert prove(*_traced(EQUAL[name])).proved
    assert prove(*_traced(EQUAL[name], gradients=True), cotangents=1).proved


@pytest.mark.parametrize("name", [name for name in EQUAL if "layer" not in name])
def test_the_checker_of_certificates_follows(name: str) -> None:
    assert _replayed(*_traced(EQUAL[name]))


@pytest.mark.parametrize("name", NOT_EQUAL)
def test_a_near_miss_is_neither_proved_nor_followed(name: str) -> None:
    first, second = _traced(NOT_EQUAL[name])
    assert not prove(first, second).proved
    assert not _replayed(first, second)
