"""How a model comes to its list of layers: equal ones, unlike ones, some with state, some from the caller."""

import random
from dataclasses import dataclass

EACH = "for k in jr.split(key, DEPTH)"
COUNTED = "for i, k in enumerate(jr.split(key, DEPTH))"
EQUAL = [
    f"self.layers = [Block(4, key=k) {EACH}]",
    f"self.layers = tuple(Block(4, key=k) {EACH})",
    f"self.layers = []\n{EACH}:\n    self.layers.append(Block(4, key=k))",
    "self.layers = []\nwhile len(self.layers) < DEPTH:\n    key, k = jr.split(key)\n    self.layers.append(Block(4, key=k))",
    f"blocks = [Block(4, key=k) {EACH}]\nself.layers = blocks",
    "self.layers = make(4, DEPTH, key)",
    "self.layers = [*[Block(4, key=k) for k in jr.split(key, DEPTH - 1)], Block(4, key=key)]",
    "self.layers = [Block(4, key=jr.fold_in(key, i)) for i in range(DEPTH)]",
    f"self.layers = []\nself.layers.extend(Block(4, key=k) {EACH})",
    f"blocks = []\n{EACH}:\n    blocks += [Block(4, key=k)]\nblocks = tuple(blocks)\nself.layers = blocks",
    f"blocks, widths = [], []\n{EACH}:\n    blocks.append(Block(4, key=k))\n    widths.append(4)\nself.layers = blocks",
    f"self.layers, self.depth = [Block(4, key=k) {EACH}], DEPTH",
    f"self.depth, (self.layers, _) = DEPTH, ([], key)\n{EACH}:\n    self.layers.append(Block(4, key=k))",
    f"self.layers = [None] * DEPTH\n{COUNTED}:\n    self.layers[i] = Block(4, key=k)",
    f"build = lambda k: Block(4, key=k)\nself.layers = [build(k) {EACH}]",
    f"def build(k):\n    return Block(4, rate=0.1, key=k)\nself.layers = [build(k) {EACH}]",
    f"build = functools.partial(Block, 4, 0.2)\nself.layers = [build(key=k) {EACH}]",
    (
        f"if DEPTH > 3:\n    self.layers = [Block(4, key=k) {EACH}]\n"
        f"else:\n    self.layers = [Block(4, 0.1, key=k) {EACH}]"
    ),
    f"options = dict(rate=0.2, drop=0.1)\nself.layers = [Block(4, **options, key=k) {EACH}]",
]
UNLIKE = [
    f"self.layers = [Block(4, rate=0.1 * i, key=k) {COUNTED}]",
    f"self.layers = [Block(4, drop=0.1 * i, key=k) {COUNTED}]",
    "self.layers = [Block(4, r, float(r), key=k) for r, k in zip(np.linspace(0, 0.4, DEPTH), jr.split(key, DEPTH))]",
    f"self.layers = [Block(4, act=jnp.tanh if i else jnp.cos, key=k) {COUNTED}]",
    f"self.layers = [Block(4, act=lambda y: y * y, key=k) {EACH}]",
    f"self.layers = [Gate(4, key=k) if i % 2 else Block(4, key=k) {COUNTED}]",
    f"self.layers = [(Block if i < 2 else Gate)(4, key=k) {COUNTED}]",
    (
        f"self.layers = []\n{COUNTED}:\n    if i % 3 == 0:\n        self.layers.append(Gate(4, key=k))\n"
        "    else:\n        self.layers.append(Block(4, rate=0.05 * i, key=k))"
    ),
    f"self.layers = []\nrate = 0.1\n{EACH}:\n    self.layers.append(Block(4, rate, key=k))\n    rate = rate * 1.5",
    "self.layers = [Block(4, key=key)] + [Block(4, drop=0.5, key=k) for k in jr.split(key, DEPTH - 1)]",
    f"self.layers = [Gate(4, key=key)]\nself.layers += [Block(4, key=k) {EACH}][1:]",
    (
        "blocks = [Block(4, key=k) for k in jr.split(key, DEPTH - 1)]\n"
        "blocks.insert(0, Gate(4, key=key))\nself.layers = blocks"
    ),
    (
        f"if DEPTH > 3:\n    blocks = [Block(4, key=k) {EACH}]\n"
        f"else:\n    blocks = [Gate(4, key=k) {EACH}]\nself.layers = blocks"
    ),
    f"cls = Gate if DEPTH > 3 else Block\nself.layers = [cls(4, key=k) {EACH}]",
    f"self.layers = [KINDS['gate' if i == 1 else 'block'](4, key=k) {COUNTED}]",
]
THREE = [
    "a, b, c = jr.split(key, 3)\nself.layers = [Block(4, key=a), Block(4, key=b), Block(4, key=c)]",
    "a, b, c = jr.split(key, 3)\nself.layers = [Block(4, key=a), Gate(4, key=b), Block(4, rate=0.5, key=c)]",
    "a, b, c = jr.split(key, 3)\nself.layers = [Block(4, 0.1, key=a), Block(4, 0.2, key=b), Block(4, 0.3, key=c)]",
]
FOUR = [
    "a, b, c, d = jr.split(key, 4)\nself.layers = [Block(4, key=a), Gate(4, key=b), Block(4, key=c), Gate(4, key=d)]"
]
WIDE = [
    f"self.layers = [Wide(4 + i, 5 + i, key=k) {COUNTED}]",
    (
        "sizes = [4, 6, 6, 6, 5, 4, 4][: DEPTH + 1]\n"
        "self.layers = [Wide(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], jr.split(key, DEPTH))]"
    ),
    (
        f"self.layers = []\nwidth = 4\n{COUNTED}:\n    self.layers.append(Wide(width, 4 + i % 2, key=k))\n"
        "    width = 4 + i % 2"
    ),
]
STATEFUL = [
    f"self.layers = [Running(4, key=k) {EACH}]",
    f"self.layers = []\n{EACH}:\n    self.layers.append(Running(4, key=k))",
    f"self.layers = tuple(Running(4, key=k) {EACH})",
]
NORMED = [f"self.layers = [Normed(4, key=k) {EACH}]"]
PAIRS = [
    f"self.layers = [(Block(4, key=k), Norm(jnp.ones(4))) {EACH}]",
    f"self.layers = tuple((Gate(4, key=k), jnp.sin if i % 2 else jnp.tanh) {COUNTED})",
    f"self.layers = [[Block(4, rate=0.1 * i, key=k), lambda y: y * 0.5] {COUNTED}]",
    f"self.layers = []\n{EACH}:\n    block = Block(4, key=k)\n    norm = Norm(jnp.ones(4))\n    self.layers.append((block, norm))",
    f"self.layers = []\n{EACH}:\n    pair = []\n    for _ in range(2):\n        pair.append(Block(4, key=k))\n    self.layers.append(pair)",
    f"self.layers = [[Block(4, key=one) for one in jr.split(k)] {EACH}]",
]
GIVEN = [
    "make(4, DEPTH, key)",
    f"[Block(4, key=k) {EACH}]",
    f"tuple(Gate(4, key=k) if i % 2 else Block(4, rate=0.1 * i, key=k) {COUNTED})",
]
# Lists that are not what they seem.
LIST_BUGS = [
    "blocks = make(4, 2, key)\nself.layers = blocks\nblocks.append(Block(4, key=key))",
    "block = Block(4, key=key)\nself.layers = [block for _ in range(3)]",
    "self.layers = [Block(4, key=key)] * 3",
    "self.layers = make(4, 2, key)\nself.layers += make(4, 1, key)",
    "self.layers = [Block(4, key=k) for k in jr.split(key, 3)][::-1]",
    "self.layers = make(4, 3, key)\nself.layers[1] = Gate(4, key=key)",
]


@dataclass(frozen=True)
class Layers:
    """The statements that build a list of `depth` layers; `family` says which bodies suit them.

    `plain` layers take a mask, keys and a second carry; `wide` ones change the width; `state` ones thread a state;
    those of a `pair` stand beside something else in a tuple or list.
    With `given` the list is an argument of the constructor, and this is what the caller gives; layers that are `named`
    stand in a dict.
    """

    build: str
    depth: int
    family: str = "plain"
    given: bool = False
    named: bool = False
    annotations: tuple[str, ...] = ("list[Base]", "tuple[Base, ...]", "'list[Base]'", "list", "list[eqx.Module]")


def random_layers(pick: random.Random) -> Layers:
    kinds = ["equal", "unlike", "three", "wide", "state", "normed", "given", "pair"]
    kind = pick.choices(kinds, [12, 8, 2, 2, 2, 0.5, 2, 2])[0]
    depth = pick.choice([3, 4, 4, 5, 6])
    if kind == "three":
        build = pick.choice(THREE + FOUR)
        return Layers(build, 4 if build in FOUR else 3)
    if kind == "wide":
        return Layers(pick.choice(WIDE), depth, "wide", annotations=("list[Wide]", "list"))
    if kind in ("state", "normed"):
        build = pick.choice(STATEFUL if kind == "state" else NORMED)
        return Layers(build, depth, kind, annotations=("list", "list[eqx.Module]", "tuple"))
    if kind == "given":
        return Layers(pick.choice(GIVEN), depth, given=True, annotations=("list[Base]", "tuple[Base, ...]", "list"))
    if kind == "pair":
        return Layers(pick.choice(PAIRS), depth, "pair", annotations=("list", "tuple", "list[tuple]"))
    if kind == "equal":
        exact = ("list[Block]", "tuple[Block, ...]", "'list[Block]'", "list", "list[eqx.Module]")
        return Layers(pick.choice(EQUAL), depth, annotations=exact)
    return Layers(pick.choice(UNLIKE), depth)
