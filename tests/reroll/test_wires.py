"""What differs from layer to layer in plain JAX, and what layers have in common: each becomes what a scan has for it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

import scanify
from tests.reroll.programs import same, same_gradient

N = 6
X = jnp.linspace(0.1, 0.9, 4)
W = jax.random.normal(jax.random.key(0), (N, 4, 4)) / 2
B = jax.random.normal(jax.random.key(1), (N, 4))


class Params(NamedTuple):
    w: Any
    b: Any


LIST = [{"w": w, "b": b} for w, b in zip(W, B, strict=True)]
TUPLES = [Params(w, b) for w, b in zip(W, B, strict=True)]


def dense(x: Any, w: Any, b: Any) -> Any:
    y = jnp.tanh(w @ x + b)
    return jnp.sin(y) * jax.nn.sigmoid(x) + jax.nn.softmax(y - x)


def dicts(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = dense(x, layer["w"], layer["b"])
    return x


def tuples(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = dense(x, *layer)
    return x


def numbers(layers: Any, x: Any) -> Any:
    for at, layer in enumerate(layers):
        x = dense(x * (1.0 + at / 10), layer["w"], layer["b"]) / (at + 1) ** 0.5
    return x


def numbers_in_jit(layers: Any, x: Any) -> Any:
    for at, layer in enumerate(layers):
        x = jax.jit(lambda x, layer, at=at: dense(x * (1.0 + at / 10), layer["w"], layer["b"]))(x, layer)
    return x


def stacked(params: Any, x: Any) -> Any:
    w, b = params
    for at in range(N):
        x = dense(x, w[at], b[at])
    return x


def stacked_backwards(params: Any, x: Any) -> Any:
    w, b = params
    for at in reversed(range(N)):
        x = dense(x, w[at], b[at])
    return x


def collected(layers: Any, x: Any) -> Any:
    kept = []
    for layer in layers:
        kept.append(x)
        x = dense(x, **layer)
    return x, kept, jnp.stack(kept)


def carried_and_collected(layers: Any, x: Any) -> Any:
    kept = []
    for layer in layers:
        x = dense(x, **layer)
        kept.append(x)
    return kept


def some_collected(layers: Any, x: Any) -> Any:
    kept = []
    for at, layer in enumerate(layers):
        x = dense(x, **layer)
        if at % 2:
            kept.append(x + 1.0)
    return kept


def last_only(layers: Any, x: Any) -> Any:
    y = x
    for layer in layers:
        y = jnp.tanh(x @ layer["w"])
        x = dense(y, **layer)
    return x + y


def auxiliary_loss(layers: Any, x: Any) -> Any:
    loss = 0.0
    for layer in layers:
        x = dense(x, **layer)
        loss = loss + jnp.sum(x**2)
    return x, loss


def auxiliary_losses(layers: Any, x: Any) -> Any:
    loss = 0.0
    for layer in layers:
        x = dense(x, **layer)
        loss = loss + x**2
    return x, loss


def cache(layers: Any, x: Any, kept: Any) -> Any:
    for at, layer in enumerate(layers):
        old = kept[at]
        x = dense(x, **layer) + old
        kept = kept.at[at].set(x)
    return x, kept


def keys(layers: Any, x: Any, key: Any) -> Any:
    for layer, k in zip(layers, jax.random.split(key, N), strict=True):
        x = dense(x, **layer) * jax.random.bernoulli(k, 0.5, x.shape)
    return x


def chained_keys(layers: Any, x: Any, key: Any) -> Any:
    for layer in layers:
        key, k = jax.random.split(key)
        x = dense(x, **layer) * jax.random.bernoulli(k, 0.5, x.shape)
    return x, key


def folded_keys(layers: Any, x: Any, key: Any) -> Any:
    for at, layer in enumerate(layers):
        x = dense(x, **layer) * jax.random.bernoulli(jax.random.fold_in(key, at), 0.5, x.shape)
    return x


def one_number_in_two_types(layers: Any, x: Any, key: Any) -> Any:
    for at, layer in enumerate(layers):
        x = dense(x, **layer) * jnp.int32(at) + jax.random.uniform(jax.random.fold_in(key, jnp.uint32(at)), x.shape)
    return x


def fourier(layers: Any, x: Any) -> Any:
    """The inverse is padded with a number that jax converts to a complex one."""
    for layer in layers:
        x = dense(jnp.fft.irfft(jnp.fft.rfft(x) * 2.0, n=4), **layer)
    return x


def all_in_each(layers: Any, x: Any) -> Any:
    """Each call is handed all layers and reads one."""
    for at in range(N):
        x = jax.jit(lambda layers, x, at=at: dense(x, **layers[at]))(layers, x)
    return x


def named(layers: Any, x: Any) -> Any:
    for at, layer in enumerate(layers):

        def f(x: Any, layer: Any = layer) -> Any:
            return dense(x, **layer)

        f.__name__ = f"layer_{at}"
        with jax.named_scope(f"layer_{at}"):
            x = jax.jit(f)(x)
    return x


def peeled(layers: Any, x: Any) -> Any:
    x = jnp.cos(dense(x, **layers[0]))
    for layer in layers[1:-1]:
        x = dense(x, **layer)
    return jnp.cos(dense(x[::-1], **layers[-1]))


def two_runs(layers: Any, x: Any) -> Any:
    skips = []
    for layer in layers:
        x = dense(x, **layer)
        skips.append(x)
    for layer, skip in zip(layers, reversed(skips), strict=True):
        x = dense(x, **layer) - jnp.cos(skip)
    return x


def alternating(layers: Any, x: Any) -> Any:
    for at, layer in enumerate([*layers, *layers]):
        x = dense(x, **layer)
        if at % 3 == 2:
            x = jnp.cumsum(x)[::-1]
    return x


def shared(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = dense(x, layers[0]["w"], layer["b"])
    return x


def first_input_in_all(layers: Any, x: Any) -> Any:
    first = x
    for layer in layers:
        x = dense(x, **layer) + first
    return x


EQUAL: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[int]]] = {
    "dicts": (dicts, (LIST, X), [N]),
    "named tuples": (tuples, (TUPLES, X), [N]),
    "numbers that differ": (numbers, (LIST, X), [N]),
    "numbers that differ, each layer jitted": (numbers_in_jit, (LIST, X), [N]),
    "stacked parameters that are sliced": (stacked, ((W, B), X), [N]),
    "stacked parameters, the last layer first": (stacked_backwards, ((W, B), X), [N]),
    "collected values": (collected, (LIST, X), [N]),
    "values that are carried and collected": (carried_and_collected, (LIST, X), [N]),
    "some collected values": (some_collected, (LIST, X), [N // 2]),
    "a value of the last layer": (last_only, (LIST, X), [N]),
    "a loss that begins as a number": (auxiliary_loss, (LIST, X), [N]),
    "losses that begin as a number": (auxiliary_losses, (LIST, X), [N]),
    "a cache that is written at a number": (cache, (LIST, X, jnp.ones((N, 4))), [N]),
    "a key for each": (keys, (LIST, X, jax.random.key(3)), [N]),
    "an old key for each": (keys, (LIST, X, jax.random.PRNGKey(3)), [N]),
    "keys in a chain": (chained_keys, (LIST, X, jax.random.key(3)), [N]),
    "keys by number": (folded_keys, (LIST, X, jax.random.key(3)), [N]),
    "one number in two types": (one_number_in_two_types, (LIST, X, jax.random.key(3)), [N]),
    "Fourier transforms": (fourier, (LIST, X), [N]),
    "all layers handed to each": (all_in_each, (LIST, X), [N]),
    "names that differ": (named, (LIST, X), [N]),
    "other layers first and last": (peeled, (LIST, X), [N - 2]),
    "two runs": (two_runs, (LIST, X), [N, N]),
    "a period of three": (alternating, (LIST, X), [4, 3]),
    "a shared weight": (shared, (LIST, X), [N]),
    "the first input in all": (first_input_in_all, (LIST, X), [N]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_is_found_and_the_same(name: str) -> None:
    f, args, found = EQUAL[name]
    assert same(f, *args, rtol=1e-6) == found


def test_the_last_of_collected_values_is_the_carry() -> None:
    jaxpr = jax.make_jaxpr(scanify.reroll(carried_and_collected, min_layers=3))(LIST, X).jaxpr
    (scan,) = (equation for equation in jaxpr.eqns if equation.primitive.name == "scan")
    assert [output in scan.outvars for output in jaxpr.outvars] == [False] * (N - 1) + [True]


GRADIENTS = ("numbers that differ", "stacked parameters that are sliced", "two runs", "losses that begin as a number")


@pytest.mark.parametrize(
    "name", [*GRADIENTS, *(pytest.param(n, marks=pytest.mark.whole) for n in EQUAL if n not in GRADIENTS)]
)
def test_has_the_same_gradient(name: str) -> None:
    f, args, _ = EQUAL[name]
    same_gradient(f, *args)
