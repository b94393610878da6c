"""What is known of Flax NNX, as data: which of its classes are modules, what is a list, a key, a function of arrays."""

MODULES = frozenset(
    "Module Bidirectional BatchNorm Conv ConvTranspose Dropout Einsum Embed GRUCell GroupNorm InstanceNorm "
    "LSTMCell LayerNorm Linear LinearGeneral LoRA LoRALinear MultiHeadAttention OptimizedLSTMCell PReLU RMSNorm RNN "
    "RNNCellBase RoPE Sequential SimpleCell SpectralNorm WeightNorm".split()
)
# What `flax.nnx` has of `jax.nn` and `jax.numpy`, under the same names.
FUNCTIONS = frozenset(
    "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid log_softmax "
    "logsumexp one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus standardize swish tanh".split()
)
PACKAGE = "flax.nnx."


def nnx_module(qualname: str) -> bool:
    """Whether a class of a library is a `flax.nnx.Module`."""
    return qualname.startswith(PACKAGE) and qualname.removeprefix(PACKAGE) in MODULES


def as_jax(qualname: str) -> str:
    """The function of jax that a name of `flax.nnx` stands for; any other name as it is."""
    name = qualname.removeprefix(PACKAGE)
    return f"jax.nn.{name}" if qualname.startswith(PACKAGE) and name in FUNCTIONS else qualname
