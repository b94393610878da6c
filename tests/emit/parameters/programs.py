"""Functions over lists of parameters in the ways people write them, each with what it is called with.

The parameters come first. All are small: what a program is, is the same for wide layers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

HEAD = "import jax\nimport jax.numpy as jnp\n"
N = 5  # layers: a prime, so that chunks leave a last one over
W = 3  # their width


def normal(*shape: int, at: int = 0) -> jax.Array:
    """Numbers for a place of a program."""
    return jax.random.normal(jax.random.key(at), shape) / 2


def layers(*names: str) -> list[dict[str, jax.Array]]:
    """Dicts of square matrices."""
    return [{name: normal(W, W, at=10 * i + j) for j, name in enumerate(names)} for i in range(N)]


@dataclass(frozen=True)
class Program:
    """The text of a file, the function in it that walks parameters, and what it is given."""

    name: str
    text: str
    function: str
    given: Callable[[ModuleType], tuple[Any, ...]]


def _program(name: str, text: str, function: str, given: Callable[[ModuleType], tuple[Any, ...]]) -> Program:
    return Program(name, HEAD + text, function, given)


GPT = _program(
    "a GPT of nested dicts",
    """
def norm(x, g, b):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def attention(p, x, n_head):
    q, k, v = jnp.split(x @ p["qkv"], 3, axis=-1)
    scores = jnp.where(jnp.tril(jnp.ones((len(x), len(x)))) == 1, q @ k.T / n_head**0.5, -1e9)
    return jax.nn.softmax(scores) @ v @ p["out"]


def block(p, x, n_head):
    x = x + attention(p["attn"], norm(x, **p["ln"]), n_head)
    return x + jax.nn.gelu(x @ p["mlp"]["up"]) @ p["mlp"]["down"]


def gpt(params, tokens, n_head=1):
    x = params["wte"][tokens]
    for p in params["blocks"]:
        x = block(p, x, n_head)
    return norm(x, 1.0, 0.0) @ params["wte"].T
""",
    "gpt",
    lambda _: (
        {
            "wte": normal(7, W),
            "blocks": [
                {
                    "attn": {"qkv": normal(W, 3 * W, at=i), "out": p["out"]},
                    "ln": {"g": jnp.ones(W), "b": jnp.zeros(W)},
                    "mlp": {"up": p["up"], "down": p["down"]},
                }
                for i, p in enumerate(layers("out", "up", "down"))
            ],
        },
        jnp.array([1, 4, 2]),
    ),
)
LLAMA = _program(
    "a llama of named tuples",
    """
from typing import NamedTuple


class LayerWeights(NamedTuple):
    norm: jax.Array
    wq: jax.Array
    wo: jax.Array
    bias: jax.Array | None = None


class Weights(NamedTuple):
    embed: jax.Array
    layers: list[LayerWeights]


def rms(x, w):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def layer(w: LayerWeights, x, cos):
    h = jnp.tanh(rms(x, w.norm) @ w.wq * cos)
    return x + h @ w.wo if w.bias is None else x + h @ w.wo + w.bias


def forward(weights: Weights, tokens, cos):
    x = weights.embed[tokens]
    for lw in weights.layers:
        x = layer(lw, x, cos)
    return x @ weights.embed.T
""",
    "forward",
    lambda m: (
        m.Weights(normal(7, W), [m.LayerWeights(jnp.ones(W), p["q"], p["o"]) for p in layers("q", "o")]),
        jnp.array([1, 4, 2]),
        jnp.full(W, 0.5),
    ),
)
DECODER = _program(
    "a decoder whose key is split in the loop",
    """
from typing import NamedTuple


class DecoderBlock(NamedTuple):
    q_proj: jax.Array
    out_proj: jax.Array


def dropout(key, x, rate):
    return x if key is None else jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def decoder_block(params, seq, mask, *, key):
    return seq + dropout(key, jnp.tanh(seq @ params.q_proj) * mask @ params.out_proj, 0.1)


def decoder(params: list[DecoderBlock], seq, mask, key):
    for p in params:
        key, subkey = jax.random.split(key)
        seq = decoder_block(p, seq, mask, key=subkey)
    return seq
""",
    "decoder",
    lambda m: (
        [m.DecoderBlock(p["q"], p["o"]) for p in layers("q", "o")],
        normal(2, W),
        jnp.ones(W),
        jax.random.key(1),
    ),
)
ZIPPED = _program(
    "a dict of blocks beside split keys",
    """
def block(p, x, key):
    return x + jnp.tanh(x @ p["w"]) * jax.random.bernoulli(key, 0.5, x.shape)


def apply(params, x, key):
    n = len(params["blocks"])
    for p, k in zip(params["blocks"], jax.random.split(key, n)):
        x = block(p, x, k)
    return x
""",
    "apply",
    lambda _: ({"blocks": layers("w")}, normal(2, W), jax.random.key(1)),
)
TUPLES = _program(
    "tuples of weights and biases",
    """
def predict(params, x):
    for w, b in params:
        x = jnp.tanh(jnp.dot(x, w) + b)
    return x
""",
    "predict",
    lambda _: ([(p["w"], jnp.zeros(W)) for p in layers("w")], normal(W)),
)
DATACLASSES = _program(
    "registered dataclasses with a static field, and collected outputs",
    """
import dataclasses
from functools import partial


@partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["act"])
@dataclasses.dataclass
class Dense:
    w: jax.Array
    b: jax.Array
    act: str = "tanh"


def dense(layer: Dense, x):
    x = x @ layer.w + layer.b
    return jnp.tanh(x) if layer.act == "tanh" else x


def forward(layers: list[Dense], x):
    hidden = []
    for layer in layers:
        x = dense(layer, x)
        hidden.append(x)
    return x, hidden
""",
    "forward",
    lambda m: ([m.Dense(p["w"], jnp.zeros(W)) for p in layers("w")], normal(2, W)),
)
NAMED_LAYERS = _program(
    "layers that a dict holds under numbered names",
    """
def apply(p, x):
    return jnp.tanh(x @ p["w"] + p["b"])


def model(params, x):
    for i in range(5):
        x = apply(params[f"layer_{i}"], x)
    return x
""",
    "model",
    lambda _: ({f"layer_{i}": {"w": p["w"], "b": jnp.zeros(W)} for i, p in enumerate(layers("w"))}, normal(2, W)),
)
STATES = _program(
    "states that are walked beside the parameters and collected",
    """
def time_mix(x, state, p):
    mixed = x * p["mix"] + state * (1 - p["mix"])
    return p["value"] @ jnp.square(jax.nn.relu(p["key"] @ mixed)), x


def step(params, x, states):
    new_states = []
    for p, state in zip(params["blocks"], states):
        dx, state = time_mix(x, state, p)
        x = x + dx
        new_states.append(state)
    return params["head"] @ x, new_states
""",
    "step",
    lambda _: (
        {"head": normal(W, W), "blocks": [{**p, "mix": jnp.full(W, 0.3)} for p in layers("value", "key")]},
        normal(W),
        [normal(W, at=i) for i in range(N)],
    ),
)
SPREAD = _program(
    "elements that are spread into keywords",
    """
def block(x, mlp, scale, n_head):
    return x + jnp.tanh(x * scale @ mlp["fc"]) @ mlp["proj"] / n_head


def gpt2(blocks, x, n_head=2):
    for b in blocks:
        x = block(x, **b, n_head=n_head)
    return x
""",
    "gpt2",
    lambda _: ([{"mlp": p, "scale": jnp.ones(W)} for p in layers("fc", "proj")], normal(2, W)),
)
RESIDUAL = _program(
    "a net as examples of optimisers write it",
    """
def net(params, x):
    for layer in params:
        x = x + jax.nn.relu(jnp.dot(x, layer["w"]) + layer["b"])
    return x.sum()
""",
    "net",
    lambda _: ([{"w": p["w"], "b": jnp.ones(W)} for p in layers("w")], normal(2, W)),
)
CHECKPOINTED = _program(
    "a block that has its own remat",
    """
@jax.checkpoint
def block(p, x):
    return x + jnp.tanh(x @ p["w"])


def encoder(params, x):
    for p in params["layers"]:
        x = block(p, x)
    return x
""",
    "encoder",
    lambda _: ({"layers": layers("w")}, normal(2, W)),
)
FLOW = _program(
    "a flow that sums log determinants",
    """
def coupling(p, x):
    a, b = jnp.split(x, 2, axis=-1)
    s = jnp.tanh(a @ p["s"])
    return jnp.concatenate([b * jnp.exp(s) + a @ p["t"], a], -1), s.sum(-1)


def flow(params, x):
    log_det = jnp.zeros(x.shape[0])
    for p in params:
        x, ld = coupling(p, x)
        log_det = log_det + ld
    return x, log_det
""",
    "flow",
    lambda _: (layers("s", "t"), normal(2, 2 * W)),
)
CACHES = _program(
    "caches of keys and values",
    """
from typing import NamedTuple


class Cache(NamedTuple):
    k: jax.Array
    v: jax.Array


def attend(p, x, cache, pos):
    k = cache.k.at[pos].set(x @ p["wk"])
    v = cache.v.at[pos].set(x @ p["wv"])
    return x + jax.nn.softmax(k @ (x @ p["wq"])) @ v, Cache(k, v)


def decode(params, x, caches, pos):
    new = []
    for p, cache in zip(params["layers"], caches):
        x, cache = attend(p, x, cache, pos)
        new.append(cache)
    return x, new
""",
    "decode",
    lambda m: (
        {"layers": layers("wk", "wv", "wq")},
        normal(W),
        [m.Cache(jnp.zeros((4, W)), jnp.zeros((4, W))) for _ in range(N)],
        2,
    ),
)
FEW = _program(
    "a part of a list",
    """
def predict(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b
""",
    "predict",
    lambda _: ([(p["w"], jnp.zeros(W)) for p in layers("w")], normal(2, W)),
)

PROGRAMS = [
    GPT,
    LLAMA,
    DECODER,
    ZIPPED,
    TUPLES,
    DATACLASSES,
    NAMED_LAYERS,
    STATES,
    SPREAD,
    RESIDUAL,
    CHECKPOINTED,
    FLOW,
    CACHES,
    FEW,
]
