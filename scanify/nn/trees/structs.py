"""`jax.ShapeDtypeStruct`s that keep everything a traced program knows of an array: weak types and mesh properties."""

from typing import Any

import jax

from scanify.nn.trees.leaves import is_array, varying


def struct(value: Any) -> jax.ShapeDtypeStruct:
    """Return the shape, dtype, weak type and mesh properties of an array or an aval."""
    if isinstance(value, jax.ShapeDtypeStruct):
        return value
    aval = jax.typeof(value) if is_array(value) else value
    sharding = getattr(aval, "sharding", None)
    if sharding is not None and sharding.mesh.empty:
        sharding = None
    weak = bool(getattr(aval, "weak_type", False))
    manual = getattr(aval, "manual_axis_type", None)
    return jax.ShapeDtypeStruct(
        aval.shape, aval.dtype, weak_type=weak, sharding=sharding, manual_axis_type=manual if varying(aval) else None
    )


def row_struct(value: Any) -> jax.ShapeDtypeStruct:
    """Return the struct of one entry along the first axis of an array or an aval."""
    whole = struct(value)
    if whole.sharding is not None:
        return struct(jax.eval_shape(lambda x: x[0], whole))
    return jax.ShapeDtypeStruct(
        whole.shape[1:], whole.dtype, weak_type=bool(whole.weak_type), manual_axis_type=whole.manual_axis_type
    )
