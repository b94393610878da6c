"""Notebooks made of cells, and their cells run as one program."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

PYTHON = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
IMPORTS = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp"
BLOCK = """\
class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, width, *, key):
        self.linear = eqx.nn.Linear(width, width, key=key)

    def __call__(self, x):
        return x + self.linear(x)
"""
MODEL = """\
class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, width, depth, *, key):
        self.layers = [Block(width, key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x"""
RUN = "y = Model(4, 5, key=jax.random.key(0))(jnp.arange(4.0))"
TEXT = "# A *model*\n"
# Where the loop stands, where its model is in a cell of its own.
LINE = 8


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    lines = source.splitlines(True) if isinstance(source, str) else source
    return {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [], "source": lines, **more}


def text(source: str = TEXT) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(True)}


def notebook(cells: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any] = PYTHON, **more: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": dict(metadata), "nbformat": 4, "nbformat_minor": 4, **more}


def dumped(document: Mapping[str, Any], **how: Any) -> bytes:
    """The bytes as Jupyter writes them, or in another way."""
    return (json.dumps(document, **{"indent": 1, "ensure_ascii": False, **how}) + "\n").encode()


def sources(data: bytes) -> list[str]:
    """The source of every cell."""
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"]]


def without_sources(data: bytes) -> Any:
    document = json.loads(data)
    for cell in document["cells"]:
        del cell["source"]
    return document


def ran(data: bytes) -> dict[str, Any]:
    """The names that the code cells leave, run one after another without the lines that IPython reads."""
    names: dict[str, Any] = {"__name__": "notebook"}
    for cell in json.loads(data)["cells"]:
        if cell["cell_type"] == "code":
            lines = "".join(cell["source"]).replace("\r\n", "\n").split("\n")
            exec("\n".join(line for line in lines if line[:1] not in ("%", "!")), names)
    return names
