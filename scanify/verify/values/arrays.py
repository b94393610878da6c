"""Small array helpers for several checks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_array(value: Any) -> bool:
    """True for a jax or NumPy array, a tracer, or a `jax.ShapeDtypeStruct`."""
    return isinstance(value, jax.Array | np.ndarray | jax.ShapeDtypeStruct)


def is_traced(value: Any) -> bool:
    """True for inputs of a traced program: jax arrays, tracers and `jax.ShapeDtypeStruct`, but not NumPy arrays."""
    return isinstance(value, jax.Array | jax.ShapeDtypeStruct)


def is_key(value: Any) -> bool:
    """True for a typed key array."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def is_inexact(value: Any) -> bool:
    """True for floating or complex dtypes, which can be differentiated."""
    return bool(jnp.issubdtype(value.dtype, jnp.inexact))


def struct(value: Any) -> jax.ShapeDtypeStruct:
    """Return the shape, dtype and weak type of an array, without its values."""
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    aval = value if isinstance(value, jax.core.ShapedArray) else jax.typeof(value)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def show_aval(value: Any) -> str:
    """Return `float32[8, 64]`, with `weak` in front of a weakly typed one."""
    weak = "weak " if getattr(value, "weak_type", False) else ""
    return f"{weak}{value.dtype}{list(value.shape)}"


def plain(value: Any) -> np.ndarray[Any, Any]:
    """Return the values of a concrete array, without jax; typed keys give their key data."""
    return np.asarray(jax.random.key_data(value) if is_key(value) else value)


def bits(value: Any) -> np.ndarray[Any, Any]:
    """Return the values as bytes: shape `(*shape, itemsize)`, uint8. Typed keys give their key data."""
    raw = np.ascontiguousarray(plain(value))
    return raw.reshape(*raw.shape, 1).view(np.uint8) if raw.dtype != np.bool_ else raw[..., None].astype(np.uint8)


def same_bits(a: Any, b: Any) -> bool:
    """True for the same shape, dtype and bits; a NaN equals a NaN of the same bits."""
    return bool(a.shape == b.shape and a.dtype == b.dtype and np.array_equal(bits(a), bits(b)))


def show_value(value: Any) -> str:
    """Return a short text of a value for messages."""
    if is_array(value):
        if isinstance(value, jax.core.Tracer | jax.ShapeDtypeStruct) or np.prod(value.shape, dtype=int) > 4:
            return show_aval(value)
        return f"{plain(value).tolist()} ({show_aval(value)})"
    text = getattr(value, "__qualname__", None) or repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
