"""Flax NNX as data: the names of its modules, its variables and its list."""

MODULES = frozenset(
    "Module Bidirectional BatchNorm Conv ConvTranspose Dropout Einsum Embed GRUCell GroupNorm InstanceNorm "
    "LSTMCell LayerNorm Linear LinearGeneral LoRA LoRALinear MultiHeadAttention OptimizedLSTMCell PReLU RMSNorm RNN "
    "RNNCellBase RoPE Sequential SimpleCell SpectralNorm WeightNorm".split()
)
PACKAGE = "flax.nnx."
VARIABLES = frozenset(f"{PACKAGE}{name}" for name in ("BatchStat", "Cache", "Param", "Variable"))
NNX_LIST = f"{PACKAGE}List"  # a list that is a module


def nnx_module(qualname: str) -> bool:
    """True if a class of a library is a `flax.nnx.Module`."""
    return qualname.startswith(PACKAGE) and qualname.removeprefix(PACKAGE) in MODULES
