"""Recognise what a size is for by the name of its parameter: the vocabulary of the field."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """A kind of size: its value in a proposed case, and the reason for it as a comment."""

    value: int
    why: str


# The width is a multiple of 32, the usual number of groups in group norms.
ROLES = {
    "depth": Role(4, "layers: enough for a loop to be one"),
    "heads": Role(4, "attention heads: divides dim"),
    "kv_heads": Role(2, "heads of keys and values: divides heads"),
    "dim": Role(64, "width of the model"),
    "hidden": Role(96, "width inside a feed-forward layer"),
    "vocab": Role(80, "size of the vocabulary"),
    "length": Role(16, "length of a sequence"),
    "batch": Role(2, "examples in a batch"),
    "size": Role(16, "height and width of an image"),
    "patch": Role(4, "side of a patch: divides size"),
    "channels": Role(3, "channels of the input"),
    "inputs": Role(6, "size of the input"),
    "outputs": Role(5, "size of the output"),
    "experts": Role(4, "experts"),
    "chosen": Role(2, "experts for each token"),
    "modes": Role(4, "Fourier modes: fewer than half a length"),
    "kernel": Role(3, "size of a convolution's kernel"),
    "spatial": Role(2, "spatial dimensions"),
    "groups": Role(1, "groups: divides any number of channels"),
    "factor": Role(2, "a factor"),
    "other": Role(8, "a size of its own"),
}

# The first pattern that matches the whole lower-case name wins. `N` and `S` are the usual prefixes and suffixes.
_PATTERNS = (
    ("kv_heads", r"N(kv|key_value)_?heads?|num_query_groups|N(kv|key_value)"),
    ("heads", r"N(\w+_)?heads?|nheads?"),
    ("experts", r"N(\w+_)?experts?"),
    ("chosen", r"(\w+_)?top_?k|N(active|selected)(_experts)?|Nexperts_per_tok(en)?"),
    ("depth", r"N(\w+_)?(layers?|blocks?|depth|levels?)|nlayers?|nblocks?"),
    ("vocab", r"N(\w+_)?vocab(ulary)?(_size)?|N(embeddings|tokens?)|ntokens?|alphabet_size"),
    ("patch", r"(\w+_)?patch(_?size|_?len)?"),
    ("length", r"block_size|N(max_|maximum_)?(seq|sequence|context|ctx|positions?|patches|timesteps?|frames)(_size)?"),
    ("length", r"(\w+_)?(length|len|seq_?len|positions|position_embeddings|context_(size|window))|window_size|horizon"),
    ("size", r"(image|img|crop)_?(size|res|resolution|height|width|h|w)|resolution|height"),
    ("spatial", r"(num_)?spatial_(dims?|ndim)|ndims?|num_dims|num_spatial_dims"),
    ("channels", r"(in|input|image|img)_?(channels?|chans?|c)|(channels?|c)_in(put)?|N(channels|chans)|channel"),
    ("modes", r"N(\w+_)?modes?(_\w+|\d)?"),
    ("kernel", r"(\w+_)?(kernel|filter)(_size)?"),
    ("groups", r"N(\w+_)?groups?|(\w+_)?(strides?|dilation)"),
    ("factor", r"(\w+_)?(ratio|factor|expansion|expand|mult|multiplier|multiple)"),
    (
        "hidden",
        r"(\w+_)?(ffn?|ffw|mlp|feed_?forward|intermediate|inner)(_hidden)?S?|dim_feedforward|d_(ffn?|inner|mlp)",
    ),
    ("inputs", r"(N|d_|dim_|size_)(ins?|inputs?|data|obs|observation|state)S?"),
    ("outputs", r"(N|d_|dim_|size_)(out|outputs?|action|target|class|classes|labels?)S?|out_c|(channels?|c)_out(put)?"),
    ("dim", r"d_?model|n_?embd|(n|num)_(features|units|hidden)"),
    ("dim", r"(hidden|embed|embedding|embd|emb|model|features?|latent|token|width|residual|base)S?s?|dim|width_size"),
    ("other", r"(\w+_)?(dims?|sizes?|widths?|features|channels|units|rank|ndim)|(d|dim|n|num|number_of)_\w+"),
)
_SHORT = {"N": r"(?:(?:n|num|number_of|total|max)_)?", "S": r"(?:_?(?:dim|size|width|features|channels|units))?"}


def _expanded(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"N|S", lambda found: _SHORT[found[0]], pattern))


_COMPILED = tuple((role, _expanded(pattern)) for role, pattern in _PATTERNS)
_HEAD_DIM = re.compile(r"(\w+_)?(head_?dim|dim_head|head_size|d_head|(size|dim)_per_head|head_width)")


def role_of(name: str) -> str | None:
    """Return the role of an integer parameter called `name`, a key of ROLES; None if it is not in the vocabulary."""
    lower = name.lower()
    if is_head_dim(lower):
        return "other"
    return next((role for role, pattern in _COMPILED if pattern.fullmatch(lower)), None)


def is_head_dim(name: str) -> bool:
    """True if the name denotes the width of one attention head, `dim // heads`."""
    return _HEAD_DIM.fullmatch(name.lower()) is not None


# Names of dimensions in jaxtyping shapes that are not names of parameters.
DIMENSIONS = {
    **dict.fromkeys(("b", "batch", "bs", "batch_size"), "batch"),
    **dict.fromkeys("s t l n seq length tokens time frames patches sequence positions steps points".split(), "length"),
    **dict.fromkeys("h w height width".split(), "size"),
    **dict.fromkeys("d c e f embd embed emb hidden features dim model".split(), "dim"),
    **dict.fromkeys(("channels", "chan"), "channels"),
    **dict.fromkeys(("in", "input", "inputs"), "inputs"),
    **dict.fromkeys(("out", "output", "outputs", "classes"), "outputs"),
    **dict.fromkeys(("v", "vocab"), "vocab"),
}


def stem(name: str) -> str:
    """The name without its usual prefix and suffix: `num_patches` and `patches` are the same size."""
    core = re.sub(r"^(n|num|max|number_of)_", "", name.lower())
    return re.sub(r"_(dim|size|len|length|width)$", "", core)
