"""Programs that are evaluated compute what compiled ones compute, nothing of theirs is compiled, and jax's checks stay."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax._src import pjit

from tests.evaluated import evaluated

W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 2, 2)


def folded(weights: Any, x: Any) -> Any:
    def step(carry: Any, weight: Any) -> Any:
        new = jnp.tanh(weight @ carry) + carry
        return jax.lax.cond(new.sum() > 0, lambda y: y, lambda y: -2 * y, new), new

    x, steps = jax.lax.scan(step, x, weights, reverse=True)
    return jax.lax.while_loop(lambda y: jnp.abs(y).max() < 10, lambda y: 2 * y, x).sum(), steps


def branched(weights: Any, x: Any) -> Any:
    return jax.value_and_grad(lambda *both: jax.lax.scan(lambda c, w: (w @ c, c), both[1], both[0])[0].sum())(
        weights, x
    )


PROGRAMS = {
    "loops and branches": folded,
    "gradients": branched,
    "batches": jax.vmap(folded, (None, 0)),
    "random numbers": lambda weights, x: jr.normal(jr.split(jr.key(3), 2)[1], x.shape) + weights[0].astype(int),
    "numbers of weak types": lambda weights, x: (jax.lax.fori_loop(0, 3, lambda i, y: y + i, 1), jnp.asarray(2.5)),
    "whole and complex numbers": lambda weights, x: ((weights * 9).astype(int) // 2, x / (1 + 2j)),
    "bfloat16": lambda weights, x: (weights.astype(jnp.bfloat16) * 2).max(0),
}


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_those_of_compiled_programs(name: str, jit: bool) -> None:
    x = np.ones((2, 2), np.float32) if name == "batches" else np.array([1, -2], np.float32)

    def run() -> Any:
        program = PROGRAMS[name]
        return (jax.jit(lambda *args: program(*args)) if jit else program)(jnp.asarray(W), jnp.asarray(x))

    expected = run()
    with evaluated():
        got = run()
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        assert (type(one), jax.typeof(one)) == (type(other), jax.typeof(other))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of what is compiled."""
    names: list[str] = []
    was = pjit._pjit_call_impl_python

    def noted(*args: Any, **params: Any) -> Any:
        names.append(params["name"])
        return was(*args, **params)

    monkeypatch.setattr(pjit, "_pjit_call_impl_python", noted)
    yield names


def test_no_loop_is_compiled(compiled: list[str]) -> None:
    jax.clear_caches()
    with evaluated():
        jax.jit(lambda *args: folded(*args))(jnp.asarray(W), jnp.array([1.0, 2.0]))
        folded(jnp.asarray(W), jnp.array([1.0, 2.0]))
        assert not {"scan", "while", "cond", "<lambda>", "add", "_where"} & set(compiled)
    folded(jnp.asarray(W), jnp.array([1.0, 2.0]))
    assert {"scan", "while"} <= set(compiled)


def test_what_jax_refuses_is_refused() -> None:
    with evaluated(), pytest.raises(TypeError, match="carry"):
        jax.lax.scan(lambda c, _: (c.astype(int), None), jnp.ones(2), None, length=3)


def test_an_evaluation_that_errs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are those of the evaluation: with one operation wrong they are wrong."""
    from tests.soundness import evaluate

    monkeypatch.setitem(evaluate.NUMPY, "mul", lambda params, x, y: x + y)
    with evaluated():
        (got, _) = jax.lax.scan(lambda c, x: (c * x, None), jnp.ones(()), jnp.full(3, 2.0))
    assert float(got) == 7.0


def test_arrays_stay_on_their_device() -> None:
    placed = jax.device_put(jnp.ones(2), jax.devices()[0])
    with evaluated():
        for program in (
            lambda x: x + 1,
            jax.jit(lambda x: x * 2),
            lambda x: jax.lax.scan(lambda c, y: (c, y), 0, x)[1],
        ):
            assert program(placed).committed and not program(jnp.ones(2)).committed
