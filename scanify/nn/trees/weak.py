"""Weak types, which stacking takes away and which only a primitive can give back."""

from typing import Any

import jax


def weakly_typed(array: Any) -> Any:
    """The array with a weak type, as that of a Python number."""
    if getattr(array, "weak_type", False):
        return array
    if isinstance(array, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=True, sharding=array.sharding)
    # jax.lax.convert_element_type has no way to ask for a weak type; the primitive has.
    return jax.lax.convert_element_type_p.bind(array, new_dtype=array.dtype, weak_type=True, sharding=None)
