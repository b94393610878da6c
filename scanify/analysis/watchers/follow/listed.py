"""The closed list: functions of libraries that may be given a model, and what they give."""

from scanify.analysis.watchers.optimizers import optimizer_reads
from scanify.analysis.watchers.tables import (
    ALLS,
    DESERIALISES,
    EACH_NUMBER,
    FILTERS,
    LOADS,
    MAKES_TREES,
    MAPS,
    READERS,
    TREE_AT,
    TYPE_TESTS,
    UNFLATTENS,
)

# What calls of functions on trees read is asked where they stand (`trees.reads`).
ASKED_ELSEWHERE = READERS | ALLS | LOADS | MAKES_TREES
GIVES_TREES = MAPS | FILTERS | UNFLATTENS | DESERIALISES | LOADS | {TREE_AT}

# Another form of the function that they are given.
WRAPPERS = frozenset(
    """jax.jit jax.vmap jax.pmap jax.checkpoint jax.remat jax.named_call jax.ad_checkpoint.checkpoint jax.make_jaxpr
    jax.tree_util.Partial jax.experimental.shard_map.shard_map jax.shard_map jax.custom_vjp jax.custom_jvp
    equinox.filter_jit equinox.filter_vmap equinox.filter_pmap equinox.filter_checkpoint equinox.Partial
    equinox.filter_custom_vjp equinox.filter_custom_jvp equinox.filter_make_jaxpr equinox.filter_closure_convert
    equinox.nn.make_with_state equinox.internal.noinline equinox.module_update_wrapper functools.partial
    functools.lru_cache functools.cache functools.wraps builtins.staticmethod builtins.classmethod builtins.property
    functools.cached_property contextlib.contextmanager beartype.beartype typeguard.typechecked jaxtyping.jaxtyped
    atexit.register chex.assert_max_traces""".split()
)
GRADIENTS = frozenset(
    """jax.grad jax.jacfwd jax.jacrev jax.jacobian jax.hessian equinox.filter_grad equinox.filter_jacfwd
    equinox.filter_jacrev equinox.filter_hessian""".split()
)
VALUES_AND_GRADIENTS = frozenset(
    "jax.value_and_grad equinox.filter_value_and_grad optax.value_and_grad_from_state".split()
)
OF_MODELS = frozenset({"equinox.filter_grad", "equinox.filter_value_and_grad"})
"""Gradients that are always those of a model."""

# What calls the function that it is given: where that is, where its arguments begin, and what it gives.
CALLS = {
    "jax.lax.scan": "scan",
    "equinox.internal.scan": "scan",
    "jax.lax.fori_loop": "fori",
    "jax.lax.while_loop": "while",
    "equinox.internal.while_loop": "while",
    "jax.lax.cond": "cond",
    "jax.lax.switch": "switch",
    "jax.lax.map": "map",
    "builtins.map": "map",
    "builtins.filter": "map",
    "jax.eval_shape": "call",
    "equinox.filter_eval_shape": "call",
    "jax.debug.callback": "call",
    "jax.jvp": "tuples",
    "equinox.filter_jvp": "tuples",
    "jax.vjp": "call",
    "equinox.filter_vjp": "call",
    "jax.linearize": "call",
    "jax.lax.associative_scan": "map",
}
# The same tree, or one that holds it.
_GIVES = frozenset(
    """equinox.apply_updates equinox.combine equinox.filter_shard equinox.tree_inference equinox.nn.inference_mode
    equinox.nn.State equinox.nn.delete_init_state equinox.error_if equinox.tree_check jax.device_put jax.device_get
    jax.block_until_ready jax.tree.broadcast jax.tree_util.tree_broadcast jax.tree.transpose jax.typeof
    jax.tree_util.tree_transpose jax.lax.stop_gradient jax.lax.with_sharding_constraint jax.lax.optimization_barrier
    jax.lax.pmean jax.lax.psum jax.lax.pcast jax.make_array_from_callback optax.apply_updates
    optax.incremental_update optax.periodic_update copy.copy copy.deepcopy dataclasses.replace copy.replace
    types.SimpleNamespace typing.cast typing.NamedTuple collections.namedtuple collections.deque collections.OrderedDict
    collections.defaultdict builtins.list builtins.tuple builtins.dict builtins.set builtins.zip builtins.enumerate
    builtins.reversed builtins.iter builtins.next builtins.sorted builtins.getattr builtins.max builtins.min
    builtins.super contextlib.nullcontext weakref.ref""".split()
)
# diffrax takes norms of states alone, or totals over all leaves; jmp casts.
PACKAGES = ("diffrax.", "jmp.")
_GIVING = ("operator.", "itertools.", "equinox.nn.", "scanify.", *PACKAGES)
# What only asks what kind of thing it is given, or raises.
_TAKES = TYPE_TESTS | EACH_NUMBER | frozenset(
    """builtins.len builtins.issubclass builtins.bool builtins.sum builtins.any builtins.all builtins.setattr
    builtins.delattr builtins.range builtins.float builtins.int builtins.object.__setattr__ equinox.tree_equal
    jax.named_scope jax.default_device jax.ensure_compile_time_eval jax.process_index""".split()
)  # fmt: skip
_TAKING = (
    "jax.numpy.", "jax.nn.", "jax.random.", "jax.lax.", "jax.scipy.", "jax.ops.", "jax.sharding.", "numpy.testing.",
    "jax.dtypes.", "jax.experimental.mesh_utils.", "math.", "time.", "pytest.", "orbax.", "chex.assert_",
)  # fmt: skip
_OF_ARRAYS = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.random.", "jax.scipy.")
ARRAY = "jax.numpy.array"
"""Stands for every function that makes an array; a method of an array gives another one."""
# Layers of equinox that take arrays and states alone. Those that call functions which they hold are not here.
_LAYERS = frozenset(
    """Linear Identity Conv Conv1d Conv2d Conv3d ConvTranspose ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding
    LayerNorm RMSNorm GroupNorm BatchNorm SpectralNorm WeightNorm Dropout PReLU GRUCell LSTMCell MultiheadAttention
    RotaryPositionalEmbedding AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d AdaptiveAvgPool1d
    AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d""".split()
)
# What makes a text for people.
TELLS = frozenset("builtins.print warnings.warn jax.debug.print equinox.tree_pprint pprint.pprint rich.print".split())
TELLING = ("logging.", "loguru.", "absl.logging.", "rich.")
TEXTS = frozenset(
    "builtins.repr builtins.str builtins.format builtins.ascii pprint.pformat equinox.tree_pformat".split()
)
# Methods of lists, dicts and queues: what they are given is in what they are called on.
CONTAINERS = frozenset(
    """append appendleft extend insert add setdefault update put put_nowait get pop popleft popitem items values keys
    copy index count clear remove discard sort reverse union move_to_end""".split()
)
# Methods of what libraries make that tables know.
_MADE_GIVES = frozenset({"init", "update", "trainable", "replace", "_replace"})


def makes_array(name: str) -> bool:
    """True for functions and methods that give arrays, made of numbers alone."""
    return name.startswith(_OF_ARRAYS)


def is_optimizer(name: str) -> bool:
    """True for functions that make an optimizer or a part of one; harmful ones are reported where they are named."""
    return name.startswith(("optax.", "scanify.optim."))


def is_layer(name: str) -> bool:
    """True for classes of equinox whose objects, when called, read no tree that they are given."""
    return name.startswith("equinox.nn.") and name.rpartition(".")[2] in _LAYERS


def gives_tree(name: str) -> bool | None:
    """True if a function returns trees that it is given, False if it returns none; None for an unlisted function."""
    if name in GIVES_TREES or name in _GIVES or name.startswith(_GIVING):
        return True
    if name in ASKED_ELSEWHERE or name in _TAKES or name.startswith(_TAKING) or name in CALLS:
        return False
    maker, _, method = name.rpartition("().")
    if maker.endswith(ARRAY):
        return False
    if maker and not name.startswith(_GIVING):
        return True if is_optimizer(maker) and method in _MADE_GIVES else None
    if is_optimizer(name):
        return optimizer_reads(name) is None or name[6].isupper()
    return None
