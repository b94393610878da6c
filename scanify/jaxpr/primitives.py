"""The table of primitives: what is known of jax's own by their names alone. It imports nothing.

The prover reads it, and so does the checker of certificates, which shares nothing else with the prover.
"""

# custom_jvp_call and custom_vjp_call stand for their primal function. What their rules compute is proved on the
# jaxprs of derivatives, where jax has applied the rules and no custom call is left. linear_call stands for its
# function, composite for its decomposition, custom_partitioning for what it computes on one device.
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

# Each gives back its operands.
# name: jax.ad_checkpoint.checkpoint_name. device_put: the policies that offload.
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

# Parameters that say where or how something is computed, and not what.
IRRELEVANT = {"out_sharding", "sharding"}

# Parameters that the avals of the outputs say, too, by the primitive.
SAID_TWICE = {
    "broadcast_in_dim": {"shape"},
    "convert_element_type": {"new_dtype", "weak_type"},
    "dot_general": {"preferred_element_type"},
    "iota": {"dtype", "shape"},
    "mul": {"out_dtype"},
    "reshape": {"new_sizes"},
}

# Of two operands of these either may come first: the result has the same bits.
COMMUTE = frozenset({"add", "mul", "and", "or", "xor", "eq", "ne"})

# No functions of their operands, though they have no effects: `lax.rng_uniform` draws from a generator of the device,
# `lax.empty` is whatever stands in memory (`jnp.empty` is one from jax 0.12 on), an infeed is what comes next.
STATEFUL = {"rng_uniform", "empty", "infeed"}

# Operations of each element whose operands may be of rank 0, or have dimensions of size 1, where the others have more,
# beside those that are folded. jax writes literals so, and vmap what it does not batch.
SPREAD = frozenset(
    {"atan2", "clamp", "complex", "div", "igamma", "igammac", "nextafter", "pow", "rem", "select_n", "shift_left"}
    | {"shift_right_arithmetic", "shift_right_logical"}
)

# Beside the sign of a zero that they give, these give the same for 0.0 and -0.0: whatever the dtype,
LINEAR = frozenset(
    "add add_any sub neg mul dot_general conv_general_dilated reduce_sum cumsum psum real imag conj complex copy "
    "reshape squeeze expand_dims transpose broadcast broadcast_in_dim concatenate pad slice dynamic_slice gather rev "
    "dynamic_update_slice scatter scatter-add scatter_add select_n select_and_scatter_add convert_element_type split "
    "unstack copy_p optimization_barrier stop_gradient name device_put sharding_constraint eq ne lt le gt ge square "
    "is_finite reduce_window_sum stack tile layout_constraint relayout reshard all_gather all_to_all psum_invariant "
    "ppermute pvary reduce_scatter fft ragged_dot_general scatter-sub scatter-mul broadcast_to cumprod reduce_prod "
    "reduce_and reduce_or reduce_xor with_memory_space_constraint".split()
)
# and of real numbers.
REAL = frozenset(
    "abs exp exp2 expm1 log log1p sin cos tan tanh sinh cosh asin asinh atan acosh acos atanh sqrt cbrt logistic erf "
    "erfc erf_inv sign floor ceil round max min clamp reduce_max reduce_min reduce_precision cummax cummin "
    "cumlogsumexp argmax argmin lgamma bessel_i0e bessel_i1e not and or xor log2 "
    "one_minus_square reduce_window_max reduce_window_min pmax pmin scatter-max scatter-min".split()
)

# Operations of each element, beside conversions, that say nothing of what elements stand beside it. Their operands may
# be spread (SPREAD, and what is folded) but are of one shape then.
EACH = frozenset(
    "abs acos acosh add and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type cbrt ceil clamp clz "
    "complex conj copy_sign cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igammac imag "
    "integer_pow is_finite le lgamma log log1p log2 logistic lt max min mul ne neg nextafter not one_minus_square or "
    "polygamma population_count pow real reduce_precision regularized_incomplete_beta rem round rsqrt select_n "
    "shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh xor zeta".split()
)
