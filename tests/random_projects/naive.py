"""A rewrite by one who looks at nothing: the list is stacked where it is set, the loop is a scan over it.

Held against the loop itself it shows that a trap is one: that something else is computed, or something raises.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from tests.random_projects.project import Project


class NaiveStack(eqx.Module):
    """Layers as one, with the fields of the first and the arrays of all."""

    layers: Any
    depth: int = eqx.field(static=True)

    def __init__(self, layers: Any) -> None:
        arrays = [eqx.filter(layer, eqx.is_array) for layer in layers]
        self.layers = eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), layers[0])
        self.depth = len(layers)

    def __len__(self) -> int:
        return self.depth

    def __getitem__(self, i: int) -> Any:
        return jax.tree.map(lambda leaf: leaf[i] if eqx.is_array(leaf) else leaf, self.layers)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.depth))


def fold(turn: Callable[[Any, Any], Any], stack: NaiveStack, x: Any) -> Any:
    arrays, rest = eqx.partition(stack.layers, eqx.is_array)
    return jax.lax.scan(lambda x, each: (turn(x, eqx.combine(each, rest)), None), x, arrays)[0]


_LOOP = re.compile(r"^(?P<indent> +)for b in (?P<source>self\.\w+):\n(?P<body>(?:(?P=indent) +.*\n|\n)+)", re.MULTILINE)


def naive(project: Project) -> dict[str, str]:
    """The one file of a plain project, rewritten without a look."""
    ((name, text),) = project.files.items()
    text = _LOOP.sub(_scan, text)
    text = re.sub(r"(self\.blocks = )(.*(?:=.*)?)$", r"\1NaiveStack(\2)", text, flags=re.MULTILINE)
    return {name: f"from tests.random_projects.naive import NaiveStack, fold\n{text}"}


def _scan(found: re.Match[str]) -> str:
    indent, body = found["indent"], found["body"].rstrip("\n")
    return f"{indent}def turn(x, b):\n{body}\n{indent}    return x\n\n{indent}x = fold(turn, {found['source']}, x)\n"
