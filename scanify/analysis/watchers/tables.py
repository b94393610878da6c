"""Functions outside of the project, by their qualified names, and what they do with the leaves of a tree."""

# The last names of annotations of arrays and of random keys.
ARRAY_TYPES = frozenset("Array ArrayLike ndarray Float Int Bool Num Inexact Shaped Complex UInt Integer Real".split())
KEY_TYPES = frozenset("PRNGKeyArray PRNGKey Key KeyArray RNGKey Rngs RngStream".split())

MAPS = frozenset(
    "jax.tree.map jax.tree_util.tree_map jax.tree_map jax.tree_multimap jax.tree_util.tree_multimap".split()
)
LEAVES = frozenset("jax.tree.leaves jax.tree_util.tree_leaves jax.tree_leaves".split())
FLATTENS = frozenset("jax.tree.flatten jax.tree_util.tree_flatten jax.tree_flatten".split())
UNFLATTENS = frozenset("jax.tree.unflatten jax.tree_util.tree_unflatten jax.tree_unflatten".split())
REDUCES = frozenset("jax.tree.reduce jax.tree_util.tree_reduce jax.tree_reduce".split())
ALLS = frozenset("jax.tree.all jax.tree_util.tree_all jax.tree_all".split())
STRUCTURES = frozenset("jax.tree.structure jax.tree_util.tree_structure jax.tree_structure".split())
PATHS = frozenset(
    """jax.tree.map_with_path jax.tree_util.tree_map_with_path jax.tree.flatten_with_path
    jax.tree_util.tree_flatten_with_path jax.tree.leaves_with_path jax.tree_util.tree_leaves_with_path
    optax.tree.get_all_with_path optax.tree_utils.tree_get_all_with_path equinox.tree_flatten_one_level
    equinox.tree_pformat jax.tree_util.tree_flatten_one_level""".split()
)
RAVELS = frozenset({"jax.flatten_util.ravel_pytree"})
FILTERS = frozenset({"equinox.filter", "equinox.partition"})
GROUPS = (MAPS, LEAVES, FLATTENS, UNFLATTENS, REDUCES, ALLS, STRUCTURES, RAVELS, FILTERS)
"""Functions of one group are one function under several names."""
TREE_MODULES = frozenset(
    {"jax.tree", "jax.tree_util", "jax.flatten_util", "jax._src.tree_util", "jax._src.flatten_util"}
)
TREE_AT = "equinox.tree_at"
# Of the modules of trees these read no leaf: keys of paths, registrations, and what only makes trees.
MAKES_TREES = UNFLATTENS | frozenset(
    f"jax.{module}.{name}"
    for module, names in (
        ("tree", "all broadcast transpose static"),
        (
            "tree_util",
            """DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath Partial PyTreeDef SequenceKey keystr
            register_dataclass register_pytree_node register_pytree_node_class register_pytree_with_keys
            register_pytree_with_keys_class register_static tree_all tree_broadcast tree_transpose treedef_tuple""",
        ),
    )
    for name in names.split()
)
VMAPS = frozenset({"equinox.filter_vmap", "equinox.filter_pmap"})
# What gives the bytes of a tree, and what takes them back.
BYTES = frozenset(
    """pickle.dumps cloudpickle.dumps dill.dumps safetensors.flax.save safetensors.numpy.save
    flax.serialization.to_bytes flax.serialization.msgpack_serialize""".split()
)
LOADS = frozenset("pickle.loads cloudpickle.loads dill.loads safetensors.flax.load safetensors.numpy.load".split())
# Functions that write a whole leaf to an open file, or read one from it.
LEAF_SPECS = frozenset({"equinox.default_serialise_filter_spec", "equinox.default_deserialise_filter_spec"})
SERIALISES = frozenset({"equinox.tree_serialise_leaves", "pickle.dump", "cloudpickle.dump", "dill.dump"})

DESERIALISES = frozenset({"equinox.tree_deserialise_leaves"})
READERS = frozenset().union(
    MAPS, LEAVES, FLATTENS, REDUCES, STRUCTURES, PATHS, FILTERS, RAVELS, BYTES, SERIALISES, DESERIALISES
)
"""What `trees.reads` judges where it is called."""
# Of one value of each array: what they give for a stack is the stack of what they give.
_NUMPY = """abs absolute add angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh array asarray astype bitwise_and
    bitwise_not bitwise_or bitwise_xor cbrt ceil clip conj conjugate copy copysign cos cosh deg2rad divide equal exp
    exp2 expm1 fabs float_power floor floor_divide fmax fmin greater greater_equal heaviside hypot imag invert isfinite
    isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum
    minimum mod multiply nan_to_num negative nextafter not_equal ones_like positive power rad2deg real reciprocal
    remainder rint round select sign signbit sin sinc sinh sqrt square subtract tan tanh true_divide trunc where
    zeros_like empty_like full_like isclose float32 float16 bfloat16 float64 int32 int64 bool_ complex64
    ascontiguousarray"""
_LAX = """stop_gradient convert_element_type abs add cos sin tan tanh exp log log1p expm1 sqrt rsqrt sign neg mul sub
    div pow integer_pow max min select clamp erf erf_inv logistic reduce_precision pmean psum pmax pmin
    with_sharding_constraint bitcast_convert_type square optimization_barrier"""
_NN = "relu relu6 sigmoid softplus silu swish gelu elu selu celu leaky_relu hard_tanh log_sigmoid soft_sign tanh mish"
_OTHERS = """jax.device_put jax.device_get jax.block_until_ready jax.numpy.asarray equinox.error_if numpy.asarray
    jax.ShapeDtypeStruct jax.typeof jax.core.get_aval jax.random.wrap_key_data jax.random.key_data operator.add
    operator.sub operator.mul operator.truediv operator.neg operator.pos operator.abs operator.eq operator.ne
    operator.lt operator.gt operator.and_ operator.or_ operator.not_ builtins.abs builtins.pow builtins.round
    copy.copy copy.deepcopy torch.from_numpy optax.incremental_update optax.update_moment
    jax.experimental.multihost_utils.host_local_array_to_global_array"""
EACH_NUMBER = frozenset(
    [f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in _NUMPY.split()]
    + [f"jax.lax.{name}" for name in _LAX.split()]
    + [f"jax.nn.{name}" for name in _NN.split()]
    + [f"numpy.testing.assert_{name}" for name in ("allclose", "array_equal", "equal", "almost_equal")]
    + _OTHERS.split()
)
# Of what kind of thing a leaf is, which stacking does not change.
TYPE_TESTS = frozenset(
    """equinox.is_array equinox.is_array_like equinox.is_inexact_array equinox.is_inexact_array_like builtins.isinstance
    builtins.type builtins.callable builtins.id jax.numpy.issubdtype numpy.issubdtype jax.dtypes.issubdtype
    jax.numpy.isdtype jax.numpy.iscomplexobj numpy.iscomplexobj jax.numpy.isrealobj jax.numpy.result_type
    jax.numpy.promote_types jax.numpy.dtype numpy.dtype jax.numpy.finfo jax.numpy.isscalar numpy.isscalar
    builtins.hasattr jax.numpy.can_cast haliax.is_named_array haliax.util.is_named_array
    haliax.jax_utils.is_jax_array_like haliax.jax_utils.is_scalarish""".split()
)
# Arrays of one value everywhere, of a shape that is given.
FILLED = frozenset(
    f"{package}.{name}"
    for package in ("jax.numpy", "numpy")
    for name in ("zeros", "ones", "full", "empty", "broadcast_to")
) | {"jax.ShapeDtypeStruct", "jax.core.ShapedArray", "jax.lax.full"}
TOTALS = {
    **{f"{package}.{name}": name for package in ("jax.numpy", "numpy") for name in ("sum", "max", "min", "all", "any")},
    **{f"{package}.a{name}": name for package in ("jax.numpy", "numpy") for name in ("max", "min")},
    **{
        f"{package}.{name}": "sum"
        for package in ("jax.numpy", "numpy")
        for name in ("vdot", "nansum", "count_nonzero", "size")
    },
    **{f"{package}.{name}": "all" for package in ("jax.numpy", "numpy") for name in ("allclose", "array_equal")},
}
COMBINES = {
    "builtins.sum": "sum",
    "builtins.max": "max",
    "builtins.min": "min",
    "builtins.all": "all",
    "builtins.any": "any",
    "operator.add": "sum",
    "math.fsum": "sum",
    "jax.numpy.add": "sum",
    "jax.numpy.maximum": "max",
    "jax.numpy.minimum": "min",
    "jax.numpy.logical_and": "all",
    "jax.numpy.logical_or": "any",
    "operator.and_": "all",
    "operator.or_": "any",
    **{f"{package}.{name}": name for package in ("jax.numpy", "numpy") for name in ("sum", "max", "min", "all", "any")},
}

# optax: what updates each number by itself, or by what holds for the whole tree.
OPTAX_HARMLESS = frozenset(
    """adabelief adadelta adagrad adam adamax adamaxw adamw adan amsgrad apply_every apply_if_finite apply_updates
    bias_correction chain clip clip_by_global_norm conditionally_mask conditionally_transform add_decayed_weights ema
    flatten freeze global_norm identity incremental_update init_empty_state inject_hyperparams
    inject_stateful_hyperparams keep_params_nonnegative lbfgs lion lookahead masked measure_with_ema monitor
    multi_transform nadam nadamw named_chain normalize_by_update_norm optimistic_adam optimistic_adam_v2
    optimistic_gradient_descent partition periodic_update polyak_sgd radam rmsprop rprop scale scale_by_adadelta
    scale_by_adam scale_by_adamax scale_by_adan scale_by_amsgrad scale_by_backtracking_linesearch scale_by_belief
    scale_by_lbfgs scale_by_learning_rate scale_by_lion scale_by_optimistic_gradient scale_by_polyak scale_by_radam
    scale_by_rms scale_by_rprop scale_by_rss scale_by_schedule scale_by_sign scale_by_stddev scale_by_yogi
    scale_by_zoom_linesearch scale_gradient selective_transform set_to_zero sgd sign_sgd signum skip_large_updates
    skip_not_finite snapshot stateless trace update_infinity_moment update_moment
    softmax_cross_entropy_with_integer_labels ctc_loss_with_forward_probs log_cosh ntxent smooth_labels safe_norm
    safe_root_mean_squares safe_increment safe_int32_increment power_iteration microbatching
    value_and_grad_from_state with_extra_args_support yogi zero_nans microbatch
    contrib.acprop contrib.ademamix contrib.adopt contrib.cocob contrib.madgrad contrib.prodigy contrib.dadapt_adamw
    contrib.momo contrib.momo_adam contrib.mechanize contrib.reduce_on_plateau contrib.sam contrib.normalize
    contrib.schedule_free contrib.schedule_free_adamw contrib.schedule_free_eval_params contrib.schedule_free_sgd
    contrib.simplified_ademamix contrib.split_real_and_imaginary contrib.scale_by_acprop contrib.scale_by_ademamix
    contrib.scale_by_adopt contrib.scale_by_cocob contrib.scale_by_simplified_ademamix""".split()
)
OPTAX_PER_LEAF = {
    "adafactor": "rank and size of each leaf",
    "adaptive_grad_clip": "a norm of each leaf",
    "add_noise": "a random key for each leaf",
    "centralize": "a mean of each leaf",
    "clip_by_block_rms": "a norm of each leaf",
    "fromage": "a norm of each leaf",
    "lamb": "a norm of each leaf",
    "lars": "a norm of each leaf",
    "noisy_sgd": "a random key for each leaf",
    "novograd": "a norm of each leaf",
    "per_example_layer_norm_clip": "a norm of each leaf",
    "scale_by_factored_rms": "rank and size of each leaf",
    "scale_by_novograd": "a norm of each leaf",
    "scale_by_param_block_norm": "a norm of each leaf",
    "scale_by_param_block_rms": "a norm of each leaf",
    "scale_by_sm3": "the shape of each leaf",
    "scale_by_trust_ratio": "a norm of each leaf",
    "sm3": "the shape of each leaf",
    "contrib.differentially_private_aggregate": "a random key for each leaf",
    "contrib.dpsgd": "a random key for each leaf",
    "contrib.galore": "the rank of each leaf",
    "contrib.hutchinson_estimator_diag_hessian": "a random key for each leaf",
    "contrib.muon": "the rank of each leaf",
    "contrib.scale_by_galore": "the rank of each leaf",
    "contrib.scale_by_muon": "the rank of each leaf",
    "contrib.sophia": "a random key for each leaf",
    "tree_map_params": "what a function makes of each leaf",
    "tree.map_params": "what a function makes of each leaf",
    "tree_utils.tree_map_params": "what a function makes of each leaf",
    "tree.random_like": "a random key for each leaf",
    "tree.split_key_like": "a random key for each leaf",
    "tree_utils.tree_random_like": "a random key for each leaf",
    "tree_utils.tree_split_key_like": "a random key for each leaf",
}
# Parts of optax that have nothing to do with parameters, or treat each number by itself.
OPTAX_ASIDE = ("losses.", "schedules.", "tree.", "tree_utils.", "projections.", "assignment.", "perturbations.")
OPTAX_ENDS = ("_schedule", "_loss", "_entropy", "_error", "_decay", "_divergence", "State", "_similarity", "_distance")

# The modules of optax that have optimizers.
OPTAX_PACKAGES = frozenset(f"optax{each}" for each in ("", ".contrib", ".transforms", ".experimental"))

# Packages whose functions take whole models and treat their leaves one by one, or as one long vector.
PER_LEAF_PACKAGES = {
    "blackjax": "all leaves as one vector",
    "distributed_shampoo": "the shape of each leaf",
    "evosax": "all leaves as one vector",
    "kfac_jax": "the layers by their parameters",
    "optax_shampoo": "the shape of each leaf",
    "soap_jax": "the shape of each leaf",
    "soap": "the shape of each leaf",
    "muon": "the rank of each leaf",
    "shampoo": "the shape of each leaf",
}
