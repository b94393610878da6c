"""Classes of libraries, as data: which are modules of Equinox and Flax NNX; and decorators that keep a class."""

from scanify.analysis.index.meaning import External

# Public names of equinox.nn that are no modules (equinox/nn/__init__.py, 0.13).
_NOT_MODULES = frozenset({"State", "StateIndex", "inference_mode", "make_with_state"})
_HARMLESS_DECORATORS = frozenset(
    "dataclasses.dataclass jaxtyping.jaxtyped typing.final functools.total_ordering beartype.beartype "
    "typeguard.typechecked equinox.module_update_wrapper jax.tree_util.register_pytree_node_class "
    "flax.struct.dataclass typing.runtime_checkable".split()
)
# Classes of `flax.nnx` that are modules.
MODULES = frozenset(
    "Module Bidirectional BatchNorm Conv ConvTranspose Dropout Einsum Embed GRUCell GroupNorm InstanceNorm "
    "LSTMCell LayerNorm Linear LinearGeneral LoRA LoRALinear MultiHeadAttention OptimizedLSTMCell PReLU RMSNorm RNN "
    "RNNCellBase RoPE Sequential SimpleCell SpectralNorm WeightNorm".split()
)
PACKAGE = "flax.nnx."


def nnx_module(qualname: str) -> bool:
    """Whether a class of a library is a `flax.nnx.Module`."""
    return qualname.startswith(PACKAGE) and qualname.removeprefix(PACKAGE) in MODULES


def library_module(qualname: str) -> bool:
    """Whether a class of a library is an `equinox.Module`, or one of Flax NNX."""
    if nnx_module(qualname):
        return True
    root, _, name = qualname.rpartition(".")
    if root == "equinox.nn" or root.startswith("equinox.nn._"):
        return name[:1].isupper() and name not in _NOT_MODULES
    return qualname in ("equinox.Module", "equinox._module.Module", "equinox.nn.StatefulLayer")


def is_harmless(decorator: External) -> bool:
    """Whether a decorator of a library gives the class back that it is given."""
    return decorator.qualname in _HARMLESS_DECORATORS
