"""Weak types, which stacking removes and only a primitive can restore."""

from typing import Any

import jax


def weakly_typed(array: Any) -> Any:
    """Return the array with a weak type, like a Python number."""
    if getattr(array, "weak_type", False):
        return array
    if isinstance(array, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=True, sharding=array.sharding)
    # jax.lax.convert_element_type cannot request a weak type; the primitive can.
    return jax.lax.convert_element_type_p.bind(array, new_dtype=array.dtype, weak_type=True, sharding=None)
