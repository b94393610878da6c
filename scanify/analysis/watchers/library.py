"""The closed list: functions outside the project by qualified name, and how they treat leaves."""

from scanify.analysis.language.tables import CALLERS, TAKERS_OF_FUNCTIONS
from scanify.analysis.watchers.values import KNOWN, MAKER, UNKNOWN, VALUED


def _in(packages: str, names: str) -> frozenset[str]:
    return frozenset(f"{package}.{name}" for package in packages.split() for name in names.split())


def _of_trees(names: str) -> frozenset[str]:
    """Return functions on trees, each under all of its names."""
    return _in("jax", " ".join(f"tree.{name} tree_util.tree_{name} tree_{name}" for name in names.split()))


# -- functions on trees -----------------------------------------------------------------------------------------------

KINDS = {
    name: kind
    for kind, names in {
        "map": _of_trees("map multimap"),
        "leaves": _of_trees("leaves"),
        "flatten": _of_trees("flatten"),
        "unflatten": _of_trees("unflatten"),
        "reduce": _of_trees("reduce"),
        "all": _of_trees("all"),
        "structure": _of_trees("structure"),
        "path": _of_trees("map_with_path flatten_with_path leaves_with_path")
        | _in("optax.tree optax.tree_utils", "get_all_with_path tree_get_all_with_path"),
        "vector": {"jax.flatten_util.ravel_pytree"},
        "filter": _in("equinox", "filter partition"),
        "vmap": _in("equinox", "filter_vmap filter_pmap"),
        "part": _in("equinox", "tree_at nn.Shared"),
        "file": _in("equinox", "tree_serialise_leaves tree_deserialise_leaves"),
        "bytes": _in("pickle cloudpickle dill", "dumps")
        | _in("safetensors.flax safetensors.numpy", "save")
        | _in("flax.serialization", "to_bytes msgpack_serialize"),
    }.items()
    for name in names
}
"""The kind of each function on trees; functions of one kind are judged alike."""
JUDGED = frozenset(name for name, kind in KINDS.items() if kind not in ("unflatten", "all", "vmap"))
"""Functions whose calls `trees` judges, whatever tree they are passed."""
LEAF_SPECS = _in("equinox", "default_serialise_filter_spec default_deserialise_filter_spec")
_LOADS = _in("pickle cloudpickle dill", "load loads") | _in("safetensors.flax safetensors.numpy", "load")
TREE_MODULES = frozenset("jax.tree jax.tree_util jax.flatten_util jax._src.tree_util jax._src.flatten_util".split())
# Functions of the tree modules that read no leaf: path keys, registrations, and constructors of trees.
_MAKE_TREES = _of_trees("unflatten all") | _in("jax.tree", "broadcast transpose static") | _in(
    "jax.tree_util",
    """DictKey FlattenedIndexKey GetAttrKey KeyEntry KeyPath Partial PyTreeDef SequenceKey keystr register_dataclass
    register_pytree_node register_pytree_node_class register_pytree_with_keys register_pytree_with_keys_class
    register_static tree_broadcast tree_transpose treedef_tuple""",
)  # fmt: skip


def is_unlisted(name: str) -> bool:
    """True for a function of a module of functions on trees that no table lists."""
    own = name.startswith(tuple(f"{each}." for each in TREE_MODULES)) and name not in TREE_MODULES
    return own and name not in JUDGED | _MAKE_TREES


# -- functions of one leaf --------------------------------------------------------------------------------------------

# Functions that treat each number of an array by itself: the result for a stack is the stack of the results.
_NUMPY = """abs absolute add array asarray astype clip conj copy cos cosh divide equal exp expm1 floor greater
    greater_equal isfinite isinf isnan less less_equal log log1p log2 logical_and logical_not logical_or maximum minimum
    multiply nan_to_num negative not_equal ones_like positive power reciprocal round sign sin sinh sqrt square subtract
    tanh where zeros_like full_like float32 float16 bfloat16 float64 int32 bool_"""
_LAX = "stop_gradient convert_element_type abs exp log sqrt rsqrt sign neg select clamp pmean psum pmax pmin square"
_NN = "relu sigmoid softplus silu gelu tanh"
EACH_NUMBER = (
    _in("jax.numpy numpy", _NUMPY)
    | _in("jax.lax", f"{_LAX} with_sharding_constraint optimization_barrier")
    | _in("jax.nn", _NN)
    | _in("jax", "device_put device_get block_until_ready ShapeDtypeStruct typeof")
    | _in("builtins", "abs pow round float int")
    | _in("copy", "copy deepcopy")
)
# Tests of a leaf's type, which stacking does not change.
TYPE_TESTS = (
    _in("equinox", "is_array is_array_like is_inexact_array is_inexact_array_like")
    | _in("builtins", "isinstance type callable hasattr")
    | _in("jax.numpy numpy jax.dtypes", "issubdtype iscomplexobj isrealobj result_type dtype finfo")
    | _in("haliax haliax.util haliax.jax_utils", "is_named_array is_jax_array_like is_scalarish")
)
# Types that an `is_leaf` may stop at: a list and a stack are the same for it.
ARRAYS = (
    _in("builtins", "isinstance int float bool complex")
    | TYPE_TESTS - _in("builtins", "hasattr callable type")
    | (frozenset("jax.Array jax.numpy.ndarray numpy.ndarray jax.ShapeDtypeStruct haliax.NamedArray".split()))
)
TOTALS = {
    f"{package}.{alias}": name
    for package in ("jax.numpy", "numpy")
    for name, aliases in {
        "sum": "sum vdot nansum count_nonzero size", "max": "max amax", "min": "min amin", "all": "all", "any": "any",
    }.items()
    for alias in aliases.split()
}  # fmt: skip
COMBINES = {f"builtins.{name}": name for name in "sum max min all any".split()}

# -- optimisers -------------------------------------------------------------------------------------------------------

# Optimisers that update each number by itself, or by a quantity of the whole tree.
_OPTAX_HARMLESS = frozenset(
    """adabelief adadelta adagrad adam adamax adamaxw adamw adan amsgrad apply_every apply_if_finite apply_updates
    bias_correction chain clip clip_by_global_norm conditionally_mask conditionally_transform add_decayed_weights ema
    flatten freeze global_norm identity incremental_update inject_hyperparams inject_stateful_hyperparams
    keep_params_nonnegative lbfgs lion lookahead masked multi_transform nadam nadamw named_chain optimistic_adam
    optimistic_gradient_descent partition periodic_update polyak_sgd radam rmsprop rprop scale scale_by_adam
    scale_by_adan scale_by_amsgrad scale_by_belief scale_by_lbfgs scale_by_learning_rate scale_by_lion scale_by_polyak
    scale_by_radam scale_by_rms scale_by_rprop scale_by_rss scale_by_schedule scale_by_sign scale_by_stddev
    scale_by_yogi set_to_zero sgd sign_sgd skip_not_finite skip_large_updates trace update_moment
    with_extra_args_support yogi zero_nans softmax_cross_entropy_with_integer_labels log_cosh smooth_labels safe_norm
    safe_increment safe_int32_increment contrib.adopt contrib.prodigy contrib.reduce_on_plateau contrib.schedule_free
    contrib.schedule_free_adamw contrib.schedule_free_eval_params contrib.schedule_free_sgd""".split()
)
_OPTAX_PER_LEAF = {
    f"{package}{name}": reads
    for reads, names in {
        "rank and size of each leaf": """adafactor scale_by_factored_rms contrib.galore contrib.muon
            contrib.scale_by_galore contrib.scale_by_muon""",
        "a norm of each leaf": """adaptive_grad_clip clip_by_block_rms fromage lamb lars novograd scale_by_novograd
            per_example_layer_norm_clip scale_by_param_block_norm scale_by_param_block_rms scale_by_trust_ratio""",
        "a mean of each leaf": "centralize",
        "the shape of each leaf": "scale_by_sm3 sm3",
        "a random key for each leaf": """add_noise noisy_sgd contrib.differentially_private_aggregate contrib.dpsgd
            contrib.hutchinson_estimator_diag_hessian contrib.sophia tree.random_like tree.split_key_like
            tree_utils.tree_random_like tree_utils.tree_split_key_like""",
        "what a function makes of each leaf": "tree_map_params tree.map_params tree_utils.tree_map_params",
    }.items()
    for name in names.split()
    for package in ("", "transforms.", "transform.", "alias.")
}
# Parts of optax that do not concern parameters, or treat each number by itself.
_OPTAX_ASIDE = ("losses.", "schedules.", "tree.", "tree_utils.", "projections.", "assignment.", "perturbations.")
_OPTAX_ENDS = ("_schedule", "_loss", "_entropy", "_error", "_decay", "_divergence", "_similarity", "_distance")
# Packages whose functions take whole models and treat their leaves one by one, or as one long vector.
PER_LEAF_PACKAGES = {
    **dict.fromkeys(("blackjax", "evosax"), "all leaves as one vector"),
    **dict.fromkeys(("distributed_shampoo", "optax_shampoo", "shampoo", "soap_jax", "soap"), "the shape of each leaf"),
    "kfac_jax": "the layers by their parameters",
    "muon": "rank and size of each leaf",
}
OPTIMISERS = frozenset((*_OPTAX_PER_LEAF.values(), *PER_LEAF_PACKAGES.values()))
"""Descriptions of what optimisers read, as watchers report them."""


def optimizer_reads(qualname: str) -> str | None:
    """Return what a function of an optimiser library reads of each leaf; None if it reads nothing."""
    package, _, name = qualname.partition(".")
    if package != "optax" or not name:
        return PER_LEAF_PACKAGES.get(package)
    if name in _OPTAX_PER_LEAF:
        return _OPTAX_PER_LEAF[name]
    last = name.removeprefix("transforms.").removeprefix("transform.").removeprefix("alias.")
    listed = last in _OPTAX_HARMLESS or last.startswith(_OPTAX_ASIDE) or last.endswith(_OPTAX_ENDS)
    return None if listed or last[0].isupper() else f"`{qualname}`, which is not known to treat each number by itself"


# -- functions that may be given a model ------------------------------------------------------------------------------

WRAPPERS = CALLERS | frozenset(
    """equinox.Partial jax.tree_util.Partial equinox.filter_make_jaxpr jax.make_jaxpr equinox.nn.make_with_state
    jax.experimental.shard_map.shard_map jax.shard_map equinox.module_update_wrapper contextlib.contextmanager
    builtins.staticmethod builtins.classmethod builtins.property functools.cached_property typeguard.typechecked
    atexit.register chex.assert_max_traces""".split()
)
"""Functions that return another form of a function that they are passed."""
GRADIENTS = {
    name: VALUED if "value" in name else MAKER
    for name in _in("jax", "grad value_and_grad jacfwd jacrev jacobian hessian vjp linearize jvp")
    | _in("equinox", "filter_grad filter_value_and_grad filter_jacfwd filter_jacrev filter_vjp filter_jvp")
} | {"builtins.type": MAKER}
"""Functions that return a function of gradients or models (MAKER), or of values with gradients (VALUED)."""
_CALLING = ("jax.", "equinox.", "functools.reduce", "builtins.map", "builtins.filter", "itertools.")
_GIVES = frozenset(
    """equinox.apply_updates equinox.combine equinox.filter_shard equinox.tree_inference equinox.nn.inference_mode
    equinox.nn.State equinox.nn.delete_init_state equinox.error_if equinox.tree_check jax.device_put jax.device_get
    jax.block_until_ready jax.lax.stop_gradient jax.lax.with_sharding_constraint jax.lax.optimization_barrier
    jax.lax.pmean jax.lax.psum jax.make_array_from_callback copy.copy copy.deepcopy copy.replace
    dataclasses.dataclass dataclasses.replace types.SimpleNamespace typing.cast typing.NamedTuple
    collections.namedtuple collections.deque collections.OrderedDict collections.defaultdict builtins.list
    builtins.tuple builtins.dict builtins.set builtins.zip builtins.enumerate builtins.reversed builtins.iter
    builtins.next builtins.sorted builtins.max builtins.min contextlib.nullcontext weakref.ref""".split()
) | _in("operator", "add sub mul truediv neg pos abs eq ne lt le gt ge and_ or_ not_ is_ is_not getitem")
_GIVING = ("itertools.", "scanify.", "equinox.nn.", "diffrax.", "jmp.")
_TAKES = TYPE_TESTS | EACH_NUMBER | _in(
    "builtins", "len issubclass bool sum any all setattr delattr range object.__setattr__"
) | frozenset(
    """equinox.tree_equal jax.named_scope jax.default_device jax.ensure_compile_time_eval jax.process_index
    optax.global_norm""".split()
)  # fmt: skip
_TAKING = (
    "jax.numpy.", "jax.nn.", "jax.lax.", "jax.random.", "jax.scipy.", "jax.ops.", "jax.sharding.", "numpy.testing.",
    "jax.dtypes.", "jax.experimental.mesh_utils.", "math.", "time.", "pytest.", "orbax.", "chex.assert_",
)  # fmt: skip


def called_arguments(name: str) -> tuple[int, ...]:
    """Return the positions of the arguments that a function calls with its other arguments."""
    if name in JUDGED:
        return ()
    if name in ("builtins.sorted", "builtins.max", "builtins.min"):
        return (0,)  # the key is passed by name
    own = (0,) if name in ("jax.debug.callback", "builtins.map", "builtins.filter", "operator.call") else ()
    return own or (TAKERS_OF_FUNCTIONS.get(name.rpartition(".")[2], ()) if name.startswith(_CALLING) else ())


def gives(name: str) -> bool | None:
    """Return whether a function returns the trees that it is passed; None if no table lists it."""
    if name in _GIVES or name in _LOADS or KINDS.get(name) in ("map", "filter", "unflatten", "part", "file"):
        return True
    if name in _TAKES or name in JUDGED | _MAKE_TREES or name.startswith(_TAKING):
        return False
    if name.startswith("optax."):
        return True if optimizer_reads(name) is None else None
    return True if name.startswith(_GIVING) else None


def mentioned(name: str) -> str:
    """Return the atom of a library function that is named without being called."""
    is_known = name in WRAPPERS or gives(name) is not None
    return GRADIENTS.get(name) or (KNOWN if is_known and not called_arguments(name) else UNKNOWN)
