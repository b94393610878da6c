"""Models put together at random from pieces of Python that are hard to read: each is a loop that is its own oracle."""

import random
from dataclasses import dataclass
from textwrap import indent

PRELUDE = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

CALLS = []


class Norm(eqx.Module):
    scale: jax.Array

    def __call__(self, x):
        return x * self.scale / (1 + jnp.sum(x**2))


class Base(eqx.Module):
    weight: jax.Array
    norm: Norm

    def __init__(self, size, *, key):
        self.weight = jr.normal(key, (size, size)) / size
        self.norm = Norm(jnp.linspace(0.5, 1.5, size))

    def attend(self, x, mask=None):
        y = jnp.tanh(self.weight.T @ x)
        return y if mask is None else y * mask


class Block(Base):
    def __call__(self, x, mask=None, *, k=None):
        h = self.norm(self.weight @ x)
        if mask is not None:
            h = h * mask
        if k is not None:
            h = h + 0.1 * k
        return x + jnp.sin(h)

    def step(self, x, s, k=0.0):
        return self(x) + s, 0.5 * s + jnp.cos(x) * k


def squash(x, by=0.5):
    y = [x * by]
    y.append(jnp.tanh(x))
    return y[0] + y[1]


def noisy(x):
    CALLS.append("noisy")
    return x


def make(size, depth, key):
    blocks = []
    for one in jr.split(key, depth):
        blocks.append(Block(size, key=one))
    return blocks
"""

BUILDS = [
    "self.layers = [Block(4, key=k) for k in jr.split(key, 3)]",
    "self.layers = tuple(Block(4, key=k) for k in jr.split(key, 3))",
    "a, b, c = jr.split(key, 3)\nself.layers = [Block(4, key=a), Block(4, key=b), Block(4, key=c)]",
    "self.layers = []\nfor k in jr.split(key, 3):\n    self.layers.append(Block(4, key=k))",
    "self.layers = []\nwhile len(self.layers) < 3:\n    key, k = jr.split(key)\n    self.layers.append(Block(4, key=k))",
    "blocks = [Block(4, key=k) for k in jr.split(key, 3)]\nself.layers = blocks",
    "self.layers = make(4, 3, key)",
    "self.layers = [*[Block(4, key=k) for k in jr.split(key, 2)], Block(4, key=key)]",
]
LIST_BUGS = [
    "blocks = make(4, 2, key)\nself.layers = blocks\nblocks.append(Block(4, key=key))",
    "block = Block(4, key=key)\nself.layers = [block for _ in range(3)]",
    "self.layers = make(4, 2, key)\nself.layers += make(4, 1, key)",
    "self.layers = [Block(4, key=k) for k in jr.split(key, 3)][::-1]",
]

# What may stand before the layer's call: statements that every layer does alike.
BEFORE = [
    "h = layer.attend(x)\nx = x + h",
    "h: jax.Array = x * 2\nx = h - x",
    "x = (h := jnp.sin(x)) + h * h",
    "parts = [x, *(x * c for c in (0.5, 0.25))]\nx = sum(parts)",
    "f = lambda y, by=0.5: layer.norm(y) * by + x\nx = f(x)",
    "if flag:\n    x = x * 0.5\nelse:\n    x = x + mask",
    "for u in range(2):\n    if u == 1:\n        break\n    x = x + u * mask",
    "x += mask",
    "x -= 0.1 * layer.weight[0]",
    "y = z = layer.norm(x)\nx = y + z",
    "x = squash(x)",
    "x = self.mix(x, mask)",
    "table = {'x': x}\ntable['x'] = table['x'] * 2\nx = table['x']",
    "x, *rest = x * 2, mask, mask\nx = x + rest[0]",
    "x = jax.vmap(lambda a, b: a * b)(x, mask)",
    "x = jax.checkpoint(layer.norm)(x)",
    "assert x.shape == mask.shape",
    "with jax.named_scope('inner'):\n    x = x * 1.5",
    "x = x.at[0].add(1.0)",
    "(x, h) = (x, x)\nx = x + h / len(self.layers)",
    "x = [layer(x) for _ in range(1)][0]",
    "s = s * 0.5 + x",
    "s, x = x, s",
    "if mask is None:\n    raise ValueError(mask)",
]
PER_LAYER = ["x = x + k", "x = x - (k2 := k * 2)", "x = layer(x, k=k)", "f = lambda x, k=k: x + k\nx = f(x)"]
CALLS = [
    "x = layer(x)",
    "x = layer(x, mask)",
    "x = layer(x, mask=mask * 2)",
    "x = layer.attend(x)",
    "x = layer.attend(x, mask)",
    "x = x + layer(x) * 0.5",
    "x, s = layer.step(x, s)",
    "(x, s) = layer.step(x, s, 0.3)",
    "x = jax.vmap(layer, in_axes=1, out_axes=1)(jnp.stack([x, x], 1))[:, 0]",
]
CALLS_PER_LAYER = ["x = layer(x, k=k)", "x = layer(x, mask, k=k)", "x, s = layer.step(x, s, k)", "x = layer(x, k * 2)"]
# What a scan would get wrong, or could not do.
HAZARDS = [
    "print('layer')\n",
    "x = noisy(x)",
    "x = jax.vmap(noisy)(x)",
    "CALLS.append('x')",
    "log['n'] = log['n'] + 1",
    "mine = log\nmine['n'] = mine['n'] + 1",
    "log['all'].pop()",
    "x = x + log['all'].pop()",
    "if layer is self.layers[-1]:\n    x = x * 0",
    "if layer is not self.layers[0]:\n    x = x + 1",
    "if id(layer) == id(self.layers[1]):\n    x = x + 1",
    "if float(x[0]) > 0.0:\n    break",
    "try:\n    x = layer(x)\nexcept TypeError:\n    pass",
    "x = x + log['rng'].normal()",
    "x = x + next(log['counter'])",
    "x = x + log['counter'].__next__()",
    "count = count + 1\nx = x * count",
    "array += 1.0\nx = x + array",
    "last = x",
    "grown = grown + [x]\nx = x + len(grown)",
    "self_ = self\nx = x + see()",
    "del h\n",
]
SURROUNDINGS = [
    "{loop}",
    "{loop}",
    "if flag:\n{loop1}\nelse:\n    x = -x",
    "for t in range(2):\n{loop1}\n    x = x + t",
    "with jax.named_scope('all'):\n{loop1}",
    "try:\n{loop1}\nfinally:\n    pass",
    "try:\n{loop1}\nexcept Exception:\n    x = x * 0",
    "def run(x, s=s):\n{loop1}\n    return x\nx = run(x)",
    "for t in range(3):\n{loop1}\n    if t == 1:\n        break\n    h = x * 0\nx = x + h",
]
AFTERWARDS = [
    "pass",
    "pass",
    "x = x / len(self.layers)",
    "x = self.layers[-1](x)",
    "for layer in self.layers[1:]:\n    x = x + layer.weight[0]",
    "for layer in self.layers:\n    x = layer(x)",
    "x = sum([jnp.sum(layer.weight) for layer in self.layers], x)",
    "x = x + last",
    "x = x + h",
    "x = layer(x)",
    "x = x + len(locals())",
    "x = see() + x",
]


@dataclass(frozen=True)
class Model:
    """A module's text, and whether each of its layers is stacked where it is built or in the call."""

    text: str
    stack: str


def random_model(seed: int) -> Model:
    """The model of a seed. About a third of them hold something that a scan would get wrong."""
    pick = random.Random(seed)
    wrong = pick.random() < 0.35
    head, xs = pick.choice(
        [
            ("for layer in self.layers:", []),
            ("for layer in self.layers:", []),
            ("for layer in list(self.layers):", []),
            ("for _, layer in enumerate(self.layers):", []),
            ("for layer, k in zip(self.layers, ks):", ["k"]),
            ("for layer, k in zip(self.layers, ks, strict=True):", ["k"]),
            ("for k, layer in zip(list(ks), self.layers):", ["k"]),
            ("for layer, (k, j) in zip(self.layers, [(c, 2.0) for c in ks]):", ["k", "j"]),
            ("for i, (layer, k) in enumerate(zip(self.layers, ks[::-1])):", ["k"]),
            ("for layer, k, j in zip(self.layers, [0.1, 0.2, 0.3], ks):", ["k", "j"]),
        ]
    )
    body = pick.sample(BEFORE, pick.choice([0, 0, 1, 1, 2]))
    if xs and pick.random() < 0.4:
        body.append(pick.choice(PER_LAYER))
    body.append(pick.choice(CALLS + (CALLS_PER_LAYER * 2 if xs else [])))
    if pick.random() < 0.2:
        body.append(pick.choice(BEFORE))
    if wrong and pick.random() < 0.7:
        body.insert(pick.randrange(len(body) + 1), pick.choice(HAZARDS))
    loop = f"{head}\n{indent(chr(10).join(body), '    ')}"
    around = pick.choice(SURROUNDINGS if wrong else SURROUNDINGS[:6])
    around = around.replace("{loop1}", indent(loop, "    ")).replace("{loop}", loop)
    build = pick.choice(LIST_BUGS) if wrong and pick.random() < 0.2 else pick.choice(BUILDS)
    end = pick.choice(AFTERWARDS if wrong else AFTERWARDS[:7])
    annotation = pick.choice(
        ["layers: list[Block]", "layers: tuple[Block, ...]", "layers: 'list[Block]'", "layers: list"]
    )
    start = "last = h = x * 0\ncount = 0\ngrown = [x]\narray = np.zeros(4)\n"
    lines = around + "\n" + end + "\nreturn x + s"
    lines = start + ("def see():\n    return x * 2\n" if "see()" in lines else "") + lines
    text = (
        f"{PRELUDE}\n\nclass Model(eqx.Module):\n    {annotation}\n\n    def __init__(self, *, key):\n"
        f"{indent(build, '        ')}\n\n    def mix(self, x, mask):\n        return x * mask + 1\n\n"
        f"    def __call__(self, x, s, mask, ks, log, flag=True):\n{indent(lines, '        ')}\n"
    )
    return Model(text, pick.choice(["init", "init", "call"]))
