"""Properties of jax's primitives, by name. This module imports nothing.

It is used by the prover and by the checker of certificates, which share nothing else.
"""

# custom_jvp_call and custom_vjp_call are replaced by their primal function. Their rules are proved on the jaxprs of
# derivatives, where jax has applied them and no custom call is left. linear_call is replaced by its function, composite
# by its decomposition, custom_partitioning by its computation on one device.
CALLS = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "eval_jaxpr",
    "remat",
    "remat2",
    "checkpoint",
    "call",
    "composite",
    "custom_jvp_call",
    "custom_partitioning",
    "custom_vjp_call",
    "custom_vmap_call",
    "compute_on",
    "linear_call",
    "xla_metadata_call",
}

# Primitives that return their operands. name: jax.ad_checkpoint.checkpoint_name. device_put: policies that offload.
IDENTITIES = {
    "copy",
    "copy_p",
    "device_put",
    "layout_constraint",
    "name",
    "optimization_barrier",
    "relayout",
    "reshard",
    "sharding_constraint",
    "stop_gradient",
}

# Parameters that determine where or how something is computed, but not its value.
IRRELEVANT = {"out_sharding", "sharding"}

# Parameters that the avals of the outputs determine as well, by primitive.
SAID_TWICE = {
    "broadcast_in_dim": {"shape"},
    "convert_element_type": {"new_dtype", "weak_type"},
    "dot_general": {"preferred_element_type"},
    "iota": {"dtype", "shape"},
    "mul": {"out_dtype"},
    "reshape": {"new_sizes"},
}

# Commutative operations: swapping the operands gives the same bits.
COMMUTE = frozenset({"add", "mul", "and", "or", "xor", "eq", "ne"})

# Not functions of their operands, although they have no effects: `lax.rng_uniform` draws from a generator of the
# device, `lax.empty` is uninitialised memory (`jnp.empty` uses it since jax 0.12), an infeed is the next input.
STATEFUL = {"rng_uniform", "empty", "infeed"}

# Elementwise operations whose operands may have rank 0 or dimensions of size 1 where the others have more, besides
# those that are folded. jax writes literals that way, and vmap unbatched operands.
SPREAD = frozenset(
    {"atan2", "clamp", "complex", "div", "igamma", "igammac", "nextafter", "pow", "rem", "select_n", "shift_left"}
    | {"shift_right_arithmetic", "shift_right_logical"}
)

# Operations that distinguish 0.0 from -0.0 at most by the sign of a zero in the result: for all dtypes,
LINEAR = frozenset(
    "add add_any sub neg mul dot_general conv_general_dilated reduce_sum cumsum psum real imag conj complex copy "
    "reshape squeeze expand_dims transpose broadcast broadcast_in_dim concatenate pad slice dynamic_slice gather rev "
    "dynamic_update_slice scatter scatter-add scatter_add select_n select_and_scatter_add convert_element_type split "
    "unstack copy_p optimization_barrier stop_gradient name device_put sharding_constraint eq ne lt le gt ge square "
    "is_finite reduce_window_sum stack tile layout_constraint relayout reshard all_gather all_to_all psum_invariant "
    "ppermute pvary reduce_scatter fft ragged_dot_general scatter-sub scatter-mul broadcast_to cumprod reduce_prod "
    "reduce_and reduce_or reduce_xor with_memory_space_constraint".split()
)
# and for real numbers.
REAL = frozenset(
    "abs exp exp2 expm1 log log1p sin cos tan tanh sinh cosh asin asinh atan acosh acos atanh sqrt cbrt logistic erf "
    "erfc erf_inv sign floor ceil round max min clamp reduce_max reduce_min reduce_precision cummax cummin "
    "cumlogsumexp argmax argmin lgamma bessel_i0e bessel_i1e not and or xor log2 "
    "one_minus_square reduce_window_max reduce_window_min pmax pmin scatter-max scatter-min".split()
)

# Elementwise operations, besides conversions: elements do not depend on their neighbours. Operands may be broadcast
# (SPREAD, and folded operations), but then have one shape.
EACH = frozenset(
    "abs acos acosh add and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type cbrt ceil clamp clz "
    "complex conj copy_sign cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igammac imag "
    "integer_pow is_finite le lgamma log log1p log2 logistic lt max min mul ne neg nextafter not one_minus_square or "
    "polygamma population_count pow real reduce_precision regularized_incomplete_beta rem round rsqrt select_n "
    "shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh xor zeta".split()
)
