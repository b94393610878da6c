"""Programs for which `jax.vmap` over layers differs from a loop over them."""

from typing import Any

import jax

from scanify.jaxpr.reading.calls import children

# A `cond` becomes a select of both branches, and the branch that is not taken may give a NaN gradient; a `while_loop`
# continues for layers that are done; custom backward passes may contain any of these.
_OTHERWISE = frozenset(
    "cond while pure_callback ffi_call pallas_call custom_partitioning infeed outfeed run_state shard_map "
    "custom_vmap_call".split()
)
# Generators of random bits other than threefry take one key for all.
_RANDOM = frozenset(("rng_bit_generator", "rng_uniform"))
_THREEFRY = "key<fry>"


def one_by_one(jaxpr: Any) -> bool:
    """True if `jax.vmap` of a program may differ from a loop."""
    if jaxpr.effects or draws_otherwise(jaxpr):
        return True
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in _OTHERWISE or name.startswith("custom_vjp_call"):
            return True
        if any(one_by_one(getattr(child, "jaxpr", child)) for child in children(equation)):
            return True
    return False


def draws_otherwise(jaxpr: Any) -> bool:
    """True if a program draws random bits that differ between `jax.vmap` and a loop."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in _RANDOM:
            return True
        if any(_other_key(atom.aval) for atom in (*equation.invars, *equation.outvars)):
            return True
        if any(draws_otherwise(getattr(child, "jaxpr", child)) for child in children(equation)):
            return True
    return False


def _other_key(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key) and str(dtype) != _THREEFRY
