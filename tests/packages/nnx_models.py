"""The models of Flax NNX, by the target `nnx`."""

from functools import partial

from tests.packages.models import FLAX, OPTAX, Model

_nnx = partial(Model, target="nnx")
_artifex = partial(_nnx, package="avitai-artifex", version="0.1.15", needs=FLAX)
ARTIFEX = "artifex/generative_models"
# What phijax imports.
PHIJAX = (
    *FLAX,
    *OPTAX,
    "cloudpickle==3.1.2",
    "colorlog==6.12.0",
    "etils==1.15.0",
    "h5py==3.16.0",
    "humanize==4.17.0",
    "mat73==0.65",
    "nest-asyncio==1.6.0",
    "omegaconf==2.4.0",
    "orbax-checkpoint==0.12.8",
    "protobuf==7.36.2",
    "simplejson==4.3.0",
    "tensorstore==0.1.86",
    "tqdm==4.70.1",
)

NNX_MODELS = (
    _artifex("artifex_dit", "DiT", file=f"{ARTIFEX}/models/backbones/dit.py", line=493),
    _nnx("fabrique_dit", "DiT", "fabrique", "0.5.0", "fabrique/models/dit/model.py", 603, FLAX),
    _nnx("phijax_pirate", "PirateNet", "phijax", "0.2.0b5", "phijax/models/pirate_net.py", 346, PHIJAX),
)
# Loops that are left as they are; the table says why.
NNX_REFUSED = (
    _artifex("artifex_encoder", "encoder", file=f"{ARTIFEX}/core/layers/transformers.py", line=669),
    _artifex("artifex_decoder", "decoder", file=f"{ARTIFEX}/core/layers/transformers.py", line=859),
    _nnx("phijax_modified_mlp", "modified MLP", "phijax", "0.2.0b5", "phijax/models/modified_mlp.py", 234, PHIJAX),
    _nnx("mamba2", "Mamba 2", "mamba2-jax", "1.1.2", "mamba2_jax/modeling.py", 495),
    _nnx("mamba3", "Mamba 3", "mamba3-jax", "1.0.1", "mamba3_jax/modeling.py", 804),
)
