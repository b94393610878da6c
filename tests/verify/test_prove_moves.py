"""Primitives that read, write and move elements.

Each case: the body of a layer, a near miss, the primitives it is about, whether reverse mode goes through it.
"""

from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

from tests.verify.layered import Body, Case, check_gradients, check_outputs


def _at(method: str, index: Any, **how: Any) -> Body:
    def body(x: Any, w: Any) -> Any:
        part = w[: len(index)] if isinstance(index, tuple) else w[0]
        rows = jnp.asarray(index) if isinstance(index, tuple) else jnp.asarray(x[0, 0] * 3, jnp.int32) + index
        return getattr(x.at[rows], method)(part, **how)

    return body


def _dus(at: int) -> Body:
    return lambda x, w: lax.dynamic_update_slice(x, w[:1] * 2, ((x[0, 0] > 0) + at, 0))


CASES: dict[str, Case] = {
    "gather": (
        lambda x, w: x[jnp.asarray(w[:, 0] > 0, jnp.int32)] * w,
        lambda x, w: x[jnp.asarray(w[:, 1] > 0, jnp.int32)] * w,
        ("gather",),
        True,
    ),
    "gather with a mode": (
        lambda x, w: x.at[jnp.asarray(w[:, 0] * 5, jnp.int32)].get(mode="fill", fill_value=0.0) * w,
        lambda x, w: x.at[jnp.asarray(w[:, 0] * 5, jnp.int32)].get(mode="clip") * w,
        ("gather",),
        True,
    ),
    "scatter": (_at("set", 0), _at("set", 1), ("scatter",), True),
    "scatter-add": (_at("add", (0, 1, 1)), _at("add", (1, 0, 1)), ("scatter-add",), True),
    "scatter-mul": (_at("multiply", (0, 1)), _at("multiply", (1, 0)), ("scatter-mul",), False),
    "scatter-min": (_at("min", 0), _at("max", 0), ("scatter-min",), False),
    "scatter-max": (_at("max", 0), _at("max", 1), ("scatter-max",), False),
    "scatter of a function": (
        lambda x, w: x.at[jnp.int32(w[0, 0] > 0)].apply(jnp.sin) * w,
        lambda x, w: x.at[jnp.int32(w[0, 0] > 0)].apply(jnp.cos) * w,
        ("scatter",),
        False,
    ),
    "mode of a scatter": (_at("set", 5, mode="drop"), _at("set", 5, mode="clip"), ("scatter",), True),
    "dynamic slice": (
        lambda x, w: x + lax.dynamic_slice(w, (jnp.int32(x[0, 0]), 0), (1, 4)),
        lambda x, w: x + lax.dynamic_slice(w, (jnp.int32(x[0, 1]), 0), (1, 4)),
        ("dynamic_slice",),
        True,
    ),
    "dynamic update": (_dus(0), _dus(1), ("dynamic_update_slice",), True),
    "convert": (
        lambda x, w: (x.astype(jnp.bfloat16) * w.astype(jnp.bfloat16)).astype(jnp.float32),
        lambda x, w: (x.astype(jnp.float16) * w.astype(jnp.float16)).astype(jnp.float32),
        ("convert_element_type",),
        True,
    ),
    "bitcast": (
        lambda x, w: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int32) ^ 1, jnp.float32) * w,
        lambda x, w: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int32) ^ 2, jnp.float32) * w,
        ("bitcast_convert_type",),
        False,
    ),
    "pad": (
        lambda x, w: jnp.pad(x * w, ((1, 0), (0, 0)))[:3],
        lambda x, w: jnp.pad(x * w, ((0, 1), (0, 0)))[:3],
        ("pad",),
        True,
    ),
    "pad between": (
        lambda x, w: lax.pad(x * w, 0.0, [(0, -2, 1), (0, 0, 0)]),
        lambda x, w: lax.pad(x * w, 0.0, [(-2, 0, 1), (0, 0, 0)]),
        ("pad",),
        True,
    ),
    "rev": (lambda x, w: jnp.flip(x, 0) * w, lambda x, w: jnp.flip(x, 1) * w, ("rev",), True),
    "moves": (
        lambda x, w: jnp.stack(jnp.split(x.T[:, None].squeeze(1).reshape(2, 6), 2, axis=1)).reshape(3, 4) * w,
        lambda x, w: jnp.stack(jnp.split(x.T[:, None].squeeze(1).reshape(2, 6), 2, axis=1)[::-1]).reshape(3, 4) * w,
        ("transpose", "reshape", "split", "squeeze"),
        True,
    ),
    "roll": (lambda x, w: jnp.roll(x, 1, 0) * w, lambda x, w: jnp.roll(x, 2, 0) * w, ("concatenate",), True),
    "iota": (
        lambda x, w: x * w + lax.broadcasted_iota(jnp.float32, (3, 4), 0),
        lambda x, w: x * w + lax.broadcasted_iota(jnp.float32, (3, 4), 1),
        ("iota",),
        True,
    ),
    "sort": (lambda x, w: lax.sort(x * w, dimension=0), lambda x, w: lax.sort(x * w, dimension=1), ("sort",), True),
    "keys of a sort": (
        lambda x, w: lax.sort((jnp.sign(x), w), num_keys=1)[1],
        lambda x, w: lax.sort((jnp.sign(x), w), num_keys=2)[1],
        ("sort",),
        True,
    ),
    "argsort": (lambda x, w: x + jnp.argsort(w), lambda x, w: x + jnp.argsort(w, axis=0), ("sort",), False),
    "top_k": (
        lambda x, w: x + lax.top_k(w, 2)[0][:, :1],
        lambda x, w: x + lax.top_k(w, 2)[0][:, 1:],
        ("top_k",),
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stack_of_layers_is_proved_and_a_near_miss_is_not(name: str) -> None:
    check_outputs(CASES[name])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_the_gradients_of_a_stack_are_proved_and_those_of_a_near_miss_are_not(name: str) -> None:
    check_gradients(CASES[name], told=name not in SAME_GRADIENTS)


# Near misses that the gradient cannot tell.
SAME_GRADIENTS = {"iota"}
