"""Facts about libraries and builtins, as data: pure functions, makers of keys and arrays, callers of functions."""

from pathlib import Path

# The last parts of dotted names in annotations of arrays and of random keys.
ARRAY_TYPES = frozenset("Array ArrayLike ndarray Float Int Bool Num Inexact Shaped Complex UInt Integer Real".split())
KEY_TYPES = frozenset("PRNGKeyArray PRNGKey Key KeyArray RNGKey Rngs RngStream".split())

# The functions of libraries that only compute, by package (`exports.txt`). These are the packages' exports, except for
# functions that read or write files or settings, change an argument, or return an object with methods of its own.
EXPORTS = {
    package: frozenset(names.split())
    for packages, _, names in (
        line.partition(":") for line in Path(__file__).with_name("exports.txt").read_text("utf-8").splitlines()
    )
    for package in packages.split()
}


def is_listed(qualname: str) -> bool:
    """True if a function of a library is known to do nothing but compute."""
    package, _, name = qualname.rpartition(".")
    return name in EXPORTS.get(package, ())


# Functions with effects outside of the program.
IMPURE = (
    *("numpy.random.", "random.", "time.", "os.", "sys.", "secrets.", "uuid.", "datetime.", "subprocess.", "shutil."),
    *("tempfile.", "gc.", "threading.", "pickle.dump", "warnings.simplefilter", "warnings.filterwarnings"),
    *("numpy.save", "jax.numpy.save", "jax.config.update", "jax.experimental.multihost_utils."),
    *(f"builtins.{name}" for name in "print input open exec eval compile breakpoint __import__ globals".split()),
    *(f"builtins.{name}" for name in "locals setattr delattr next".split()),
)
# Methods of arrays that compute the same as the functions of jax.numpy with these names.
ARRAY_METHODS = frozenset(
    "all any argmax argmin argsort choose clip compress conj conjugate copy cumprod cumsum diagonal dot max mean min "
    "nonzero prod ptp ravel repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var".split()
)
# Context managers that only name the code inside, or set the precision of jax there.
MANAGERS = frozenset("jax.named_scope contextlib.nullcontext jax.default_matmul_precision".split())
# Decorators of libraries that change nothing about what a function computes.
DECORATORS = frozenset(
    "abc.abstractmethod typing.override typing.final typing.overload typing.no_type_check typing_extensions.override "
    "typing_extensions.final typing_extensions.overload jaxtyping.jaxtyped beartype.beartype typeguard.typechecked "
    "jax.jit equinox.filter_jit jax.checkpoint equinox.filter_checkpoint jax.named_call jax.named_scope "
    "jax.profiler.annotate_function".split()
)
# Functions that call arguments, with the positions of these; a call may do anything if such an argument is not shown.
TAKERS_OF_FUNCTIONS = {
    **dict.fromkeys("scan map associative_scan custom_root vectorize tree_map map_with_path".split(), (0,)),
    **dict.fromkeys("tree_map_with_path pure_callback filter_pure_callback eval_shape make_jaxpr jvp".split(), (0,)),
    **dict.fromkeys("filter_eval_shape filter_make_jaxpr filter_jvp filter_vjp linearize reduce vjp".split(), (0,)),
    **dict.fromkeys("tree_reduce accumulate groupby takewhile dropwhile filterfalse starmap noinline".split(), (0,)),
    "fori_loop": (2,), "while_loop": (0, 1), "cond": (1, 2), "switch": (1,), "custom_linear_solve": (0, 2, 3),
    "filter": (1,), "partition": (1,), "tree_at": (0,), "inspect": (0,),
}  # fmt: skip
# Methods that need the value of an array, which a tracer does not have.
CONCRETE_METHODS = frozenset("item tolist __float__ __int__ __bool__ __index__".split())

# Functions that return the module passed to them, with equal arrays that may be on another device.
IDENTITIES = frozenset(
    "jax.lax.stop_gradient jax.device_put jax.block_until_ready jax.lax.with_sharding_constraint "
    "equinox.filter_shard".split()
)
# Functions that return a function which calls their argument.
CALLERS = frozenset(
    "jax.vmap jax.pmap jax.jit jax.checkpoint jax.remat jax.ad_checkpoint.checkpoint jax.named_call jax.grad "
    "jax.value_and_grad jax.jacfwd jax.jacrev jax.hessian equinox.filter_vmap equinox.filter_pmap equinox.filter_jit "
    "equinox.filter_checkpoint equinox.filter_grad equinox.filter_value_and_grad equinox.filter_jacfwd "
    "equinox.filter_jacrev functools.partial jaxtyping.jaxtyped beartype.beartype equinox.filter_closure_convert "
    "equinox.filter_eval_shape jax.eval_shape equinox.internal.noinline jax.shard_map "
    "jax.experimental.shard_map.shard_map jax.numpy.vectorize".split()
)
# Layers of equinox.nn that do not call their arguments.
PLAIN_LAYERS = tuple(
    "Linear Conv LayerNorm RMSNorm GroupNorm Embedding Dropout Identity AvgPool MaxPool AdaptiveAvg AdaptiveMax PReLU "
    "MultiheadAttention RotaryPositionalEmbedding".split()
)
# Functions whose result has a length that depends on values, unless `size` is passed.
SHAPED_BY_VALUES = frozenset(
    "nonzero flatnonzero argwhere unique unique_values setdiff1d intersect1d union1d compress extract".split()
)
MEASURING = frozenset(
    "shape ndim size dtype result_type promote_types issubdtype isdtype can_cast finfo iinfo iscomplexobj isrealobj "
    "isscalar iterable canonicalize_dtype broadcast_shapes parse_shape".split()
)
DTYPES = frozenset(
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 bool_ complex64 complex128".split()
)
VIEWS = frozenset({"T", "mT", "real", "imag"})  # attributes of arrays that are arrays
MEASURES = frozenset("shape ndim size dtype weak_type itemsize nbytes sharding aval".split())
LIST_TYPES = frozenset("list List tuple Tuple Sequence Iterable Collection MutableSequence".split())
# Annotations that qualify a declaration; the type is in the brackets.
WRAPPERS_OF_TYPES = frozenset(
    "Annotated Final ClassVar Required NotRequired ReadOnly InitVar AbstractVar AbstractClassVar".split()
)
DICT_TYPES = frozenset("dict Dict Mapping MutableMapping OrderedDict".split())
