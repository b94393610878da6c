"""The closed list: functions of libraries that may be passed a model, and whether they return it."""

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

ON_TREES = READERS | ALLS | LOADS | MAKES_TREES
"""Functions on trees, whose calls are read where they are named (`watchers.trees`)."""
# Another form of the function that they are passed.
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
OF_MODELS = frozenset({"equinox.filter_grad", "equinox.filter_value_and_grad"})
WITH_VALUES = frozenset({"jax.value_and_grad", "equinox.filter_value_and_grad"})
GRADIENTS = OF_MODELS | WITH_VALUES | frozenset(
    """jax.grad jax.jacfwd jax.jacrev jax.jacobian jax.hessian equinox.filter_grad equinox.filter_jacfwd
    equinox.filter_jacrev equinox.filter_hessian""".split()
)  # fmt: skip
SCANS = frozenset({"jax.lax.scan", "equinox.internal.scan"})
# The first argument is called with the others.
POSITIONAL = frozenset(
    """jax.lax.map builtins.map builtins.filter jax.eval_shape equinox.filter_eval_shape jax.debug.callback jax.vjp
    equinox.filter_vjp jax.linearize""".split()
)
# The arguments at some positions are called with any of the others, or with what they return.
JOINED = {
    "jax.lax.fori_loop": (2,),
    "jax.lax.while_loop": (0, 1),
    "equinox.internal.while_loop": (0, 1),
    "functools.reduce": (0,),
    "jax.lax.cond": (1, 2),
    "jax.lax.switch": (1,),
    "jax.jvp": (0,),
    "equinox.filter_jvp": (0,),
    "jax.lax.associative_scan": (0,),
}
# The same tree, or one that holds it.
_GIVES = MAPS | FILTERS | UNFLATTENS | DESERIALISES | LOADS | {TREE_AT} | frozenset(
    """equinox.apply_updates equinox.combine equinox.filter_shard equinox.tree_inference equinox.nn.inference_mode
    equinox.nn.State equinox.nn.delete_init_state equinox.error_if equinox.tree_check jax.device_put jax.device_get
    jax.block_until_ready jax.tree.broadcast jax.tree_util.tree_broadcast jax.tree.transpose jax.typeof
    jax.tree_util.tree_transpose jax.lax.stop_gradient jax.lax.with_sharding_constraint jax.lax.optimization_barrier
    jax.lax.pmean jax.lax.psum jax.lax.pcast jax.make_array_from_callback optax.apply_updates
    optax.incremental_update optax.periodic_update copy.copy copy.deepcopy dataclasses.replace copy.replace
    types.SimpleNamespace typing.cast typing.NamedTuple collections.namedtuple collections.deque collections.OrderedDict
    collections.defaultdict builtins.list builtins.tuple builtins.dict builtins.set builtins.zip builtins.enumerate
    builtins.reversed builtins.iter builtins.next builtins.sorted builtins.max builtins.min builtins.super
    contextlib.nullcontext weakref.ref""".split()
)  # fmt: skip
# diffrax takes norms of states alone, or totals over all leaves; jmp casts.
OF_OBJECTS = ("equinox.nn.", "diffrax.", "jmp.")
_GIVING = ("operator.", "itertools.", "scanify.", *OF_OBJECTS)
# Functions that only test the kind of their arguments, or raise.
_TAKES = TYPE_TESTS | EACH_NUMBER | frozenset(
    """builtins.len builtins.issubclass builtins.bool builtins.sum builtins.any builtins.all builtins.setattr
    builtins.delattr builtins.range builtins.float builtins.int builtins.object.__setattr__ equinox.tree_equal
    jax.named_scope jax.default_device jax.ensure_compile_time_eval jax.process_index optax.global_norm""".split()
)  # fmt: skip
OF_ARRAYS = ("jax.numpy.", "jax.nn.", "jax.lax.", "jax.random.", "jax.scipy.")
_TAKING = (
    *OF_ARRAYS, "jax.ops.", "jax.sharding.", "numpy.testing.", "jax.dtypes.", "jax.experimental.mesh_utils.", "math.",
    "time.", "pytest.", "orbax.", "chex.assert_",
)  # fmt: skip
# Layers of equinox that take arrays and states alone. Those that call functions which they hold are not here.
_LAYERS = frozenset(
    """Linear Identity Conv Conv1d Conv2d Conv3d ConvTranspose ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding
    LayerNorm RMSNorm GroupNorm BatchNorm SpectralNorm WeightNorm Dropout PReLU GRUCell LSTMCell MultiheadAttention
    RotaryPositionalEmbedding AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d AdaptiveAvgPool1d
    AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d""".split()
)
# Functions that show a text to people, and functions that return one.
_TELLS = frozenset("builtins.print warnings.warn jax.debug.print equinox.tree_pprint pprint.pprint".split())
_TELLING = ("logging.", "loguru.", "absl.logging.", "rich.")
TEXTS = frozenset(
    "builtins.repr builtins.str builtins.format builtins.ascii pprint.pformat equinox.tree_pformat".split()
)
CONTAINERS = frozenset(
    """append appendleft extend insert add setdefault update put put_nowait get pop popleft popitem items values keys
    copy index count clear remove discard sort reverse union move_to_end""".split()
)
"""Methods of lists, dicts and queues: their arguments are in what they are called on."""


def tells(name: str) -> bool:
    """True for functions that show a text to a person."""
    return name in _TELLS or name.startswith(_TELLING)


def is_optimizer(name: str) -> bool:
    """True for functions that make an optimizer or a part of one; harmful ones are reported where they are named."""
    return name.startswith(("optax.", "scanify.optim."))


def gives_tree(name: str) -> bool | None:
    """True if a function returns trees that it is passed, False if it returns none; None for an unlisted function."""
    maker, _, method = name.rpartition("()")
    if name.startswith(OF_ARRAYS) and name not in _GIVES:
        return False
    if maker and not method and not is_optimizer(name):  # an object is called
        layer = maker.startswith("equinox.nn.") and maker.rpartition(".")[2] in _LAYERS
        return True if layer or maker.startswith(("diffrax.", "jmp.")) else None
    if name in _GIVES or name.startswith(_GIVING):
        return True
    if name in ON_TREES or name in _TAKES or name.startswith(_TAKING):
        return False
    if not is_optimizer(name):
        return None
    if maker:
        return True if method in ("", ".init", ".update", ".trainable", ".replace", "._replace") else None
    return optimizer_reads(name) is None or name[6].isupper()
