"""The models in plain JAX: loops over lists of tuples and dicts, by the target `lax`."""

from functools import partial

from tests.packages.models import FLAX, MATPLOTLIB, OPTAX, SAFETENSORS, Model

_carnot = partial(
    Model,
    package="carnot-ebm",
    version="0.1.0b1",
    needs=(*FLAX, *OPTAX, *SAFETENSORS, "z3-solver==5.4.1.0"),
    target="lax",
)
_jxpinn = partial(
    Model,
    package="jxpinn",
    version="0.1.0",
    file="jxpinn/networks.py",
    needs=(*MATPLOTLIB, *OPTAX, "six==1.17.0"),
    target="lax",
)

PLAIN_MODELS = (
    _carnot("carnot_gibbs", "Gibbs energy", file="carnot/models/gibbs.py", line=299),
    _carnot("carnot_jepa", "energy of embeddings", file="carnot/embeddings/jepa_energy.py", line=245),
    _carnot("carnot_eorm", "transformer with an energy", file="carnot/models/eorm.py", line=481),
    _jxpinn("jxpinn_fcn", "fully connected", line=57),
    _jxpinn("jxpinn_adaptive_fcn", "adaptive activations", line=89),
    _jxpinn("jxpinn_siren", "SIREN", line=120),
    _jxpinn("jxpinn_adaptive_siren", "adaptive SIREN", line=152),
    _jxpinn("jxpinn_fourier", "Fourier features", line=183),
)
# Loops that are left as they are: the number of a layer decides on its activation, and a list is read while it grows.
PLAIN_REFUSED = (
    Model("pinnsjax", "network of a PINN", "pinnsjax", "0.0.2", "pinnsjax/models/net/neural_net.py", 55, target="lax"),
    Model("cosmopower", "emulator", "cosmopower-jax", "0.5.8", "cosmopower_jax/cosmopower_jax.py", 434, target="lax"),
)
