"""The command as tests run it: in a folder of its own, on small models."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import scanify
from scanify.cache_folder import FOLDER
from scanify.cli import run

BLOCK = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, width, *, key):
        self.linear = eqx.nn.Linear(width, width, key=key)

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, width, depth, *, key):
        self.layers = [Block(width, key=k) for k in jax.random.split(key, depth)]

"""
MODEL = (
    BLOCK
    + """\
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
)
REFUSED = (
    BLOCK
    + """\
    def __call__(self, x, limit):
        for layer in self.layers:
            x = layer(x)
            if x.sum() > limit:
                break
        return x
"""
)
# A function that walks the layers of a model of another file.
CALLER = """\
from model import Model


def forward(model: Model, x):
    for layer in model.layers:
        x = layer(x)
    return x
"""
LINE = MODEL[: MODEL.index("for layer")].count("\n") + 1


COMMAND = (sys.executable, "-m", "scanify")


def environment() -> dict[str, str]:
    """For child processes: so that they find this scanify, installed or not."""
    return {**os.environ, "PYTHONPATH": str(Path(scanify.__file__).parents[1])}


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Tool:
    """Runs commands in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder, self._capture, self._patch = folder, capture, patch
        patch.chdir(folder)

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Result:
        if stdin is not None:
            (self.folder / ".stdin").write_bytes(stdin)
            self._patch.setattr(sys, "stdin", (self.folder / ".stdin").open(encoding="utf-8"))
        self._capture.readouterr()
        code = run(list(arguments))
        if stdin is not None:
            sys.stdin.close()
            (self.folder / ".stdin").unlink()
        return Result(code, *self._capture.readouterr())

    def write(self, name: str, text: str | bytes = MODEL) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def files(self) -> dict[str, bytes]:
        """What lies in the folder, but for kept results."""
        paths = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        return {str(path): (self.folder / path).read_bytes() for path in paths if path.parts[0] != FOLDER}
