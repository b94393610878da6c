"""What is known of Flax NNX, as data: its modules, which of them are called how, and its variables."""

MODULES = frozenset(
    "Module Bidirectional BatchNorm Conv ConvTranspose Dropout Einsum Embed GRUCell GroupNorm InstanceNorm "
    "LSTMCell LayerNorm Linear LinearGeneral LoRA LoRALinear MultiHeadAttention OptimizedLSTMCell PReLU RMSNorm RNN "
    "RNNCellBase RoPE Sequential SimpleCell SpectralNorm WeightNorm".split()
)
PACKAGE = "flax.nnx."
# Modules whose calls only compute: they change nothing but variables and streams of their own (flax/nnx/nn, 0.12).
KEEPING_SHAPE = frozenset("BatchNorm Dropout GroupNorm InstanceNorm LayerNorm MultiHeadAttention PReLU RMSNorm".split())
LAYERS = KEEPING_SHAPE | frozenset("Conv ConvTranspose Einsum Embed Linear LinearGeneral".split())
# Arguments of their calls that are data; `rngs` would be a stream of others, `sow_weights` and `decode` make variables.
CALL_ARGUMENTS = frozenset("deterministic inputs_k inputs_v is_causal mask use_running_average".split())
FIELDS = {"mean": "BatchStat", "var": "BatchStat"} | dict.fromkeys(
    ("kernel", "bias", "scale", "embedding", "negative_slope"), "Param"
)
VARIABLES = frozenset(f"{PACKAGE}{name}" for name in ("BatchStat", "Cache", "Param", "Variable"))
STREAMS = frozenset({f"{PACKAGE}Rngs", f"{PACKAGE}RngStream"})
# Functions that wrap a value: `data` and `static` say whether jax sees it, `List` is a list that is a module.
NNX_LIST = f"{PACKAGE}List"
WRAPPERS = frozenset({NNX_LIST, f"{PACKAGE}data", f"{PACKAGE}static"})


def nnx_module(qualname: str) -> bool:
    """Whether a class of a library is a `flax.nnx.Module`."""
    return qualname.startswith(PACKAGE) and qualname.removeprefix(PACKAGE) in MODULES
