"""A stack that is applied by the loop that it stands for."""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, remat_policy_override
from scanify.verify.programs.trace import Version, under

D, DEPTH = 3, 4


class Layer(eqx.Module):
    weight: jax.Array

    def __call__(self, x: Any, scale: Any = 1.0) -> Any:
        return jnp.sin(self.weight @ x) * scale


def layers() -> list[Layer]:
    return [Layer(jr.normal(key, (D, D))) for key in jr.split(jr.key(0), DEPTH)]


def pair(layer: Any, x: Any, scale: Any) -> Any:
    x = layer(x, scale)
    return x, {"norm": (x**2).sum(), "name": "y", "scale": scale}


def until(layer: Any, x: Any, at: int) -> Any:
    return (x, "ended") if at == 2 else (layer(x), None)


def collect_until(layer: Any, x: Any, at: int) -> Any:
    return layer(x), [x] if at else [], at == 2


def looped(fn: Callable[..., Any], sequence: Any, x: Any, xs: Any) -> Iterator[Any]:
    for layer, each in zip(sequence, xs, strict=True):
        x, *rest = fn(layer, x, each)
        yield (x, *rest)


def numbers(tree: Any) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(tree) if not isinstance(leaf, str)]


def scanned(sequence: Any, x: Any) -> Any:
    ys = list(looped(pair, sequence, x, np.ones(DEPTH)))
    arrays = {name: jnp.stack([y[name] for _, y in ys]) for name in ("norm", "scale")}
    return ys[-1][0], {"name": "y", **arrays}


def reversed_fold(sequence: Any, x: Any) -> Any:
    for layer in reversed(list(sequence)):
        x = layer(x)
    return x


def the_first_three(sequence: Any, x: Any) -> Any:
    done = list(looped(collect_until, sequence, x, range(DEPTH)))[:3]
    return done[-1][0], [y for _, y, _ in done]


X = jnp.linspace(-1.0, 1.0, D)
# What the stack is asked, and the loop that it stands for.
FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "fold": (lambda s: s.fold(X), lambda s: [x for (x,) in looped(lambda b, x, _: (b(x),), s, X, range(DEPTH))][-1]),
    "reverse": (lambda s: s.fold_via(Layer.__call__, reverse=True)(X), lambda s: reversed_fold(s, X)),
    "scan": (lambda s: s.scan_via(pair, in_axes=0)(X, np.ones(DEPTH)), lambda s: scanned(s, X)),
    "collect": (
        lambda s: s.collect_via(pair, in_axes=0)(X, list(range(DEPTH)))[1],
        lambda s: [y for _, y in looped(pair, s, X, range(DEPTH))],
    ),
    "map": (lambda s: s.map_via(Layer.__call__)(X), lambda s: [layer(X) for layer in s]),
    "vmap": (lambda s: s.vmap_via(Layer.__call__, out_axes=1)(X), lambda s: jnp.stack([b(X) for b in s], 1)),
}
OF_UNLIKE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "until": (
        lambda s: s.until_via(until, in_axes=0)(X, list(range(DEPTH))),
        lambda s: [*looped(until, s, X, range(DEPTH))][2],
    ),
    "collect until": (
        lambda s: s.collect_until_via(collect_until, in_axes=0)(X, list(range(DEPTH))),
        lambda s: the_first_three(s, X),
    ),
}
CASES = [(kind, *form) for kind in (ArrayStacked, BlockSeq) for form in FORMS.items()]
CASES += [(BlockSeq, *form) for form in OF_UNLIKE.items()]


@pytest.mark.parametrize("asked", ["the stack", "the environment"])
@pytest.mark.parametrize(("kind", "name", "forms"), CASES, ids=[f"{kind.__name__}, {name}" for kind, name, _ in CASES])
def test_it_is_the_loop_bit_for_bit(
    kind: Any, name: str, forms: Any, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, loop = forms
    plain, stack = layers(), kind.of(layers())
    if asked == "the stack":
        stack = stack.unrolled()
    else:
        monkeypatch.setenv("SCANIFY_UNROLL", "1")
    want, got = loop(plain), ask(stack)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)
    arrays, static = eqx.partition(stack, eqx.is_array)
    text = jax.jit(lambda arrays: numbers(ask(eqx.combine(arrays, static)))).lower(arrays).as_text()
    assert "while" not in text
    assert jax.tree.structure(eqx.filter_grad(lambda stack: sum(map(jnp.sum, numbers(ask(stack)))))(stack)) == (
        jax.tree.structure(eqx.filter(stack, eqx.is_inexact_array))
    )


def test_hooks_see_each_layer_and_the_values_it_is_given() -> None:
    seen: list[Any] = []

    def hooked(layer: Layer, x: Any) -> Any:
        seen.append((layer.weight, x))
        return layer(x)

    ArrayStacked.of(layers()).unrolled().fold_via(hooked)(X)
    for (weight, _), layer in zip(seen, layers(), strict=True):
        np.testing.assert_array_equal(weight, layer.weight)
    assert not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(seen))


@pytest.mark.parametrize("policy", [None, True, "nested"])
def test_an_override_goes_before_the_environment(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCANIFY_UNROLL", "1")
    stack = ArrayStacked.of(layers())
    with remat_policy_override(policy):
        assert "scan[" in str(jax.make_jaxpr(stack.fold)(X))
    assert "scan[" not in str(jax.make_jaxpr(stack.fold)(X))
    monkeypatch.setenv("SCANIFY_UNROLL", "0")
    assert "scan[" in str(jax.make_jaxpr(stack.fold)(X))


@pytest.mark.parametrize("policy", [None, "full"])
def test_what_is_proved_is_the_scan_whatever_the_environment_says(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCANIFY_UNROLL", "1")
    stack = ArrayStacked.of(layers())
    with under(policy, Version(jax.tree.structure(()), (), ())):
        assert "scan[" in str(jax.make_jaxpr(stack.fold)(X))
