"""Layers in a dict, by name: the dicts, the heads of loops over them, and a model's list read as a dict's values.

The names are not in sorted order, which is the one that a dict has within `jit`.
"""

import random
import re
from dataclasses import replace

from tests.random_models.heads import Head
from tests.random_models.lists import COUNTED, Layers

BUILDS = [
    f"self.layers = {{f'b{{DEPTH - 1 - i}}': Block(4, key=k) {COUNTED}}}",
    f"self.layers = {{}}\n{COUNTED}:\n    self.layers[f'b{{(i + 1) % DEPTH}}'] = Block(4, key=k)",
    f"self.layers = {{}}\n{COUNTED}:\n    block = Block(4, rate=0.1 * i, key=k)\n    self.layers['b' + str(i)] = block",
    f"blocks = dict()\n{COUNTED}:\n    blocks[f'b{{DEPTH - 1 - i}}'] = Gate(4, key=k) if i % 2 else Block(4, key=k)\nself.layers = blocks",
    "self.layers = dict(zip([f'b{u}' for u in range(DEPTH)][::-1], make(4, DEPTH, key)))",
    f"self.layers = {{}}\n{COUNTED}:\n    self.layers.update({{f'b{{DEPTH - 1 - i}}': Block(4, drop=0.1 * i, key=k)}})",
    f"self.layers = dict((f'b{{(i + 2) % DEPTH}}', Block(4, key=k)) {COUNTED})",
    f"self.layers = {{'b0': Gate(4, key=key), **{{f'b{{DEPTH - i}}': Block(4, key=k) {COUNTED} if i}}}}",
]
BY_NAME = [
    "for name in self.named:",
    "for name in self.named.keys():",
    "for name in list(self.named):",
    "for name in sorted(self.named):",
]
# What a body does with the name of a layer.
BODIES = [
    "if name != 'b1':\n    x = x * 0.5",
    "if name == 'b2':\n    break",
    "x = x * len(name)",
    "with jax.named_scope(name):\n    x = layer(x)",
    "x = x + 0.1 * int(name[1:])",
    "x = layer(x, mask if name > 'b1' else None)",
]


def random_named(pick: random.Random, depth: int) -> Layers:
    annotations = ("dict[str, Base]", "'dict[str, Base]'", "dict")
    return Layers(pick.choice(BUILDS), depth, named=True, annotations=annotations)


def named_head(pick: random.Random, head: Head) -> Head:
    """The head of a loop over layers, of such that stand in a dict; `self.named` is the dict itself."""
    if head.number:
        number = "i" if head.number == "-i" else head.number
        return replace(head, number=f"f'b{{{number}}}'")
    if head.line == "for layer in self.layers:" and pick.random() < 0.4:
        return Head(pick.choice(BY_NAME), frozenset({"name"}), number="name")
    target, source = head.line.removeprefix("for ").split(" in ", 1)
    if pick.random() < 0.5 and re.search(r"(?<!len\()self\.layers\b(?!\[)", source):
        whole = target == "layer"
        target = re.sub(r"\blayer\b", "name, layer" if whole else "(name, layer)", target)
        source = re.sub(r"(?<!len\()self\.layers\b(?!\[)", "self.named.items()", source).replace("reversed(", "list(")
        return replace(head, line=f"for {target} in {source}", names=head.names | {"name"})
    return head


def in_a_dict(text: str) -> str:
    """A function of a model with `self.layers` a dict: its list is that of its values."""
    text = text.replace("len(self.layers)", "len(self.named)").replace("self.layers[", "list(self.named.values())[")
    return re.sub(r"\bself\.layers\b", "self.named.values()", text).replace("self.named", "self.layers")
