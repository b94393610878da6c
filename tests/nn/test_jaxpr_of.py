"""The short way to a jaxpr gives what `jax.make_jaxpr` gives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn.programs import jaxpr_of as module
from scanify.nn.programs.jaxpr_of import jaxpr_of, made

TABLE, BIG, KEY = np.arange(3.0), jnp.arange(4.0), jax.random.key(0)

CASES: dict[str, Callable[..., list[Any]]] = {
    "arrays alone": lambda x, y: [x @ y, y],
    "nothing": lambda x, y: [],
    "arrays of around the function": lambda x, y: [x * TABLE, y + BIG[:3], BIG],
    "a key of around the function": lambda x, y: [jax.random.normal(KEY, (3,)) + x],
    "the same array twice": lambda x, y: [x * BIG[:3], y * BIG[:3]],
    "numbers": lambda x, y: [x * 2, jnp.asarray(3.0)],
    "calls and loops": lambda x, y: [jax.jit(jnp.sin)(x), jax.lax.fori_loop(0, 3, lambda i, y: y * x, y)],
}


def text(found: Any) -> tuple[str, list[Any], list[Any]]:
    jaxpr, consts, avals = found
    values = [np.asarray(jax.random.key_data(c) if c.dtype == KEY.dtype else c) for c in consts]
    return str(jaxpr), [(value.dtype, value.tobytes()) for value in values], [str(aval) for aval in avals]


@pytest.mark.parametrize("case", CASES)
def test_the_jaxpr_is_that_of_make_jaxpr(case: str) -> None:
    shapes = [jax.ShapeDtypeStruct((3,), jnp.float32), jax.ShapeDtypeStruct((3,), jnp.float32, weak_type=True)]
    found, wanted = (way(CASES[case], shapes) for way in (jaxpr_of, made))
    assert text(found) == text(wanted)
    assert len(found[0].constvars) == len(found[1])


def test_tracers_of_around_the_function_stay_such() -> None:
    def outer(w: Any) -> Any:
        jaxpr, (const,), _ = jaxpr_of(lambda x: [x * w], [w])
        assert const is w and len(jaxpr.constvars) == 1
        return jax.core.eval_jaxpr(jaxpr, [const], w)[0]

    assert jax.grad(outer)(3.0) == 6.0


def test_a_jax_without_the_short_way_takes_the_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "trace_to_jaxpr_dynamic", None)
    assert text(jaxpr_of(lambda x: [x + BIG], [BIG])) == text(made(lambda x: [x + BIG], [BIG]))


def test_an_error_of_a_layer_says_that_a_layer_was_traced() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"layer at .*jaxpr_of\.py"):
        jaxpr_of(lambda x: [x if x > 0 else -x], [jnp.float32(1)])
