"""The head of a loop: how the list is walked, what is walked beside it, and whether the turns are counted."""

import random
from dataclasses import dataclass

PARTS = ["[1:]", "[:-1]", "[1:-1]", "[::2]", "[::-1]", "[: self.half]"]
# What is walked beside the layers: the names bound, and its source, where `{part}` is the slice that the layers have.
BESIDE = [
    (("k",), "k", "ks{part}"),
    (("k",), "k", "list(ks){part}"),
    (("k", "j"), "(k, j)", "[(c, 2.0) for c in ks{part}]"),
    (("r",), "r", "self.scales{part}"),
    (("r",), "r", "[0.1 * u for u in range(DEPTH)]{part}"),
    (("norm",), "norm", "self.norms{part}"),
    (("sub",), "sub", "jr.split(key, DEPTH){part}"),
    (("sub",), "sub", "keys{part}"),
]
# Layers taken by number: the first three are all of them in their order.
NUMBERS = [
    ("for i in range(len(self.layers)):", "i"),
    ("for i in range(DEPTH):", "i"),
    ("for i in range(self.n):", "i"),
    ("for i in range(len(self.layers)):", "-i"),
    ("for i in range(1, self.n):", "i"),
    ("for i in range(self.half):", "i"),
    ("for i in range(self.half):", "2 * i + 1"),
    ("for i in range(self.n - 1, -1, -1):", "i"),
    ("for i in reversed(range(self.n)):", "i"),
    ("for i in range(self.n):", "self.n - i - 1"),
    ("for i in (0, 2, 1):", "i"),
    ("for i, k in enumerate(ks):", "i"),
    ("for i, k in zip(range(self.n), ks):", "i"),
]
# Walks that a scan cannot take, or that end early.
HEAD_BUGS = [
    "for layer in iter(self.layers):",
    "for layer in (one for one in self.layers):",
    "for layer, k in zip(self.layers, iter(ks)):",
    "for layer, k in zip(self.layers, ks[:2]):",
    "for layer, k in zip(self.layers[:2], ks):",
    "for layer in [*self.layers, self.layers[0]]:",
    "for layer in filter(None, self.layers):",
    "for layer, self.layers[0].norm.thing in zip(self.layers, ks):",
    "for layer, (j, layer) in zip(self.layers, zip(ks, self.layers)):",
    "for (layer, i), k in zip(zip(self.layers, range(3)), ks):",
]


@dataclass(frozen=True)
class Head:
    """The line that begins a loop, and the names that it binds beside the layer.

    `index` is the layer's place in the walk, as an expression, where the turns are counted; `count` their number. Where
    the layers themselves are taken by number, `number` is that of a turn.
    """

    line: str
    names: frozenset[str]
    index: str | None = None
    count: str = "len(self.layers)"
    number: str = ""


def random_head(pick: random.Random, *, plain: bool = True, layer: str = "layer") -> Head:
    """A head; of layers that are not `plain` it walks no middle and no reverse, which might not fit together.

    `layer` is the target that an element of the list is bound to.
    """
    if layer == "layer" and pick.random() < 0.15:
        return _by_number(pick, plain)
    part = (pick.choice(PARTS) if plain else "[:-1]") if pick.random() < 0.15 else ""
    walked = f"self.layers{part}"
    if part and plain:
        ways = [walked, f"reversed({walked})", f"{walked}[::-1]", f"tuple(reversed(list({walked})))"]
        walked = pick.choices(ways, [6, 1, 1, 1])[0]
    if not part:
        walked = pick.choices([walked, f"list({walked})", f"reversed({walked})"], [10, 1, 1.5 * plain])[0]
    extra = pick.sample(BESIDE, pick.choices([0, 1, 2], [5, 5, 2])[0]) if plain else []
    names = {name for bound, _, _ in extra for name in bound}
    if len(names) < sum(len(bound) for bound, _, _ in extra):
        extra, names = extra[:1], set(extra[0][0])
    columns = [(layer, walked), *[(target, source.format(part=part)) for _, target, source in extra]]
    pick.shuffle(columns)
    target = ", ".join(target for target, _ in columns)
    source = walked
    if extra:
        source = f"zip({', '.join(one for _, one in columns)}{pick.choice(['', ', strict=True'])})"
    index = None
    if pick.random() < 0.33:
        start = pick.choice(["", "", "", ", 1", ", start=2", ", start=len(self.layers)"])
        first = start.removeprefix(", ").removeprefix("start=")
        index = f"(i - {first})" if first else "i"
        inner = f"({target})" if extra else target
        target, source = f"{pick.choice(['i', 'i', 'i', '_'])}, {inner}", f"enumerate({source}{start})"
        index = index if target.startswith("i") else None
    return Head(f"for {target} in {source}:", frozenset(names), index, f"len(self.layers{part})")


def _by_number(pick: random.Random, plain: bool) -> Head:
    line, number = pick.choice(NUMBERS if plain else NUMBERS[:3])
    return Head(line, frozenset("k" if " k " in line else ""), "i", number=number)
