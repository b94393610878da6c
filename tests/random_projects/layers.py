"""The classes of layers that projects are made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A class of layers: its fields, its constructor and what a call of it computes from `x`.

    `new` is the call that makes one, with the key `k`, and where it has `i` the number of the layer. Without `init` it
    is a plain dataclass. `before` are definitions that it needs. Tags: "vector" and "matrix" for the leaves it has,
    "init" for a constructor of its own, "plain" for one that is called as `LAYER(d, k)`.
    """

    name: str
    fields: str
    init: str
    term: str
    tags: frozenset[str]
    new: str = "LAYER(d, k)"
    parameters: str = "d, key"
    before: str = ""
    base: str = "eqx.Module"


def _tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


SCALE = Layer(
    "scale",
    "w: jax.Array",
    "self.w = jr.normal(key, (d,))",
    "x + jnp.tanh(self.w * x)",
    _tags("vector init plain"),
)
LINEAR = Layer(
    "linear",
    "lin: eqx.nn.Linear",
    "self.lin = eqx.nn.Linear(d, d, key=key)",
    "x + jnp.tanh(self.lin(x))",
    _tags("vector matrix init plain linear"),
)
NORMED = Layer(
    "normed",
    "norm: eqx.nn.LayerNorm\nlin: eqx.nn.Linear",
    "self.norm = eqx.nn.LayerNorm(d)\nself.lin = eqx.nn.Linear(d, d, key=key)",
    "x + jax.nn.gelu(self.lin(self.norm(x)))",
    _tags("vector matrix init plain linear"),
)
MLP = Layer(
    "mlp",
    "up: eqx.nn.Linear\ndown: eqx.nn.Linear\nwidth: int = eqx.field(static=True)",
    (
        "k1, k2 = jr.split(key)\nself.width = 2 * d\nself.up = eqx.nn.Linear(d, self.width, key=k1)\n"
        "self.down = eqx.nn.Linear(self.width, d, key=k2)"
    ),
    "x + self.down(jax.nn.relu(self.up(x)))",
    _tags("vector matrix init plain linear"),
)
GATED = Layer(
    "gated",
    "w: jax.Array\nv: jax.Array\nact: Callable = eqx.field(static=True)",
    "self.w = jr.normal(key, (d, d)) / d\nself.v = jnp.ones(d)\nself.act = jnp.tanh",
    "x * self.v + self.act(self.w @ x)",
    _tags("vector matrix init plain"),
)
BARE = Layer(
    "bare",
    "w: jax.Array",
    "",
    "x + jnp.sin(self.w * x)",
    _tags("vector"),
    new="LAYER(jr.normal(k, (d,)))",
)
RATED = Layer(
    "rated",
    "w: jax.Array\nrate: float",
    "self.w = jr.normal(key, (d,))\nself.rate = rate",
    "x + self.rate * jnp.tanh(self.w * x)",
    _tags("vector init"),
    new="LAYER(d, k, 0.1 * i)",
    parameters="d, key, rate",
)
DERIVED = Layer(
    "derived",
    "v: jax.Array",
    "super().__init__(d, key)\nself.v = jnp.full(d, 0.5)",
    "x + self.mix(x) * self.v",
    _tags("vector matrix init plain"),
    before=(
        "class Mixing(eqx.Module):\n    w: jax.Array\n\n    def __init__(self, d, key):\n"
        "        self.w = jr.normal(key, (d, d)) / d\n\n    def mix(self, x):\n        return jnp.tanh(self.w @ x)"
    ),
    base="Mixing",
)
INJECTED = Layer(
    "injected",
    "mixer: Mixer",
    "self.mixer = mixer",
    "x + self.mixer(x)",
    _tags("matrix init"),
    new="LAYER(Mixer(d, k))",
    parameters="mixer",
    before=(
        "class Mixer(eqx.Module):\n    w: jax.Array\n\n    def __init__(self, d, key):\n"
        "        self.w = jr.normal(key, (d, d)) / d\n\n    def __call__(self, x):\n        return jnp.tanh(self.w @ x)"
    ),
)
DEEP = Layer(
    "deep",
    (
        "parts: list[eqx.nn.Linear]\nrate: float = eqx.field(static=True)\n\ndef inner(self, x):\n    for part in self.parts:\n"
        "        x = jax.nn.relu(part(x))\n    return x\n"
    ),
    "self.parts = [eqx.nn.Linear(d, d, key=u) for u in jr.split(key, 3)]\nself.rate = rate",
    "x + self.rate * self.inner(x)",
    _tags("vector matrix init"),
    new="LAYER(d, k, 0.1 * i)",
    parameters="d, key, rate",
)
LAYERS = (SCALE, LINEAR, NORMED, MLP, GATED, BARE, RATED, DERIVED, INJECTED, DEEP)
