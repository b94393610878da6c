"""Random numbers, callbacks, prints and arrays that are written to.

Each case: the body of a layer, a near miss, the primitives it is about, whether reverse mode goes through it.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

from tests.verify.layered import Body, Case, check_gradients, check_outputs


def _callback(kind: Any, name: str, **how: Any) -> Body:
    return lambda x, w: kind(SEEN[name], jax.ShapeDtypeStruct((3, 4), jnp.float32), x * w, **how)


SEEN = {"a": lambda x: np.asarray(x) * np.float32(2), "b": lambda x: np.asarray(x) * np.float32(3)}


def _printing(text: str, first: bool = True) -> Body:
    def body(x: Any, w: Any) -> Any:
        if first:
            jax.debug.print(text, x=x[0, 0])
        x = x * w
        if not first:
            jax.debug.print(text, x=x[0, 0])
        return x

    return body


def _key(x: Any) -> Any:
    return jax.random.key(jnp.abs(x[0, 0] * 100).astype(jnp.int32))


def _noise(draw: Callable[[Any], Any]) -> Body:
    return lambda x, w: x * w + draw(_key(w))


def _ref(first: float, last: float) -> Body:
    def body(x: Any, w: Any) -> Any:
        ref = jax.new_ref(x)
        ref[...] = ref[...] * first + w
        ref[0] = ref[0] + last
        return ref[...]

    return body


CASES: dict[str, Case] = {
    "random bits": (
        _noise(lambda k: jax.random.normal(k, (4,))),
        _noise(lambda k: jax.random.normal(k, (3, 1))),
        ("random_seed", "random_bits"),
        True,
    ),
    "fold_in": (
        _noise(lambda k: jax.random.uniform(jax.random.fold_in(k, 1), (4,))),
        _noise(lambda k: jax.random.uniform(jax.random.fold_in(k, 2), (4,))),
        ("random_fold_in",),
        True,
    ),
    "split": (
        _noise(lambda k: jax.random.uniform(jax.random.split(k)[0], (4,))),
        _noise(lambda k: jax.random.uniform(jax.random.split(k)[1], (4,))),
        ("random_split",),
        True,
    ),
    "raw keys": (
        _noise(lambda k: jax.random.uniform(jax.random.wrap_key_data(jax.random.key_data(k) + 1), (4,))),
        _noise(lambda k: jax.random.uniform(jax.random.wrap_key_data(jax.random.key_data(k) + 2), (4,))),
        ("random_wrap", "random_unwrap"),
        True,
    ),
    "bits of a generator": (
        lambda x, w: x * w + lax.rng_bit_generator(jnp.arange(4, dtype=jnp.uint32), (4,))[1] % 7,
        lambda x, w: x * w + lax.rng_bit_generator(jnp.arange(1, 5, dtype=jnp.uint32), (4,))[1] % 7,
        ("rng_bit_generator",),
        False,
    ),
    "gamma": (
        _noise(lambda k: jax.random.gamma(k, 2.0, (4,))),
        _noise(lambda k: jax.random.gamma(k, 3.0, (4,))),
        ("random_gamma",),
        False,
    ),
    "pure callback": (_callback(jax.pure_callback, "a"), _callback(jax.pure_callback, "b"), ("pure_callback",), False),
    "callback": (_callback(io_callback, "a"), _callback(io_callback, "b"), ("io_callback",), False),
    "ordered callback": (
        _callback(io_callback, "a", ordered=True),
        _callback(io_callback, "b", ordered=True),
        ("io_callback",),
        False,
    ),
    "what is printed": (_printing("{x}"), _printing("x {x}"), (), True),
    "where it is printed": (_printing("{x}"), _printing("{x}", first=False), (), True),
    "mutable array": (_ref(2.0, 1.0), _ref(1.0, 2.0), ("get", "swap"), False),
    "equinox conditional error": (
        lambda x, w: eqx.error_if(x * w, jnp.any(x > 1e6), "too large"),
        lambda x, w: eqx.error_if(x * w, jnp.any(x > 1e5), "too large"),
        (),
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stack_of_layers_is_proved_and_a_near_miss_is_not(name: str) -> None:
    check_outputs(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_the_gradients_of_a_stack_are_proved_and_those_of_a_near_miss_are_not(name: str) -> None:
    check_gradients(CASES[name], told=name not in SAME_GRADIENTS)


# Near misses that the gradient cannot tell.
SAME_GRADIENTS = {"what is printed"}
