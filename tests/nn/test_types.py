"""What type checkers know of stacks: the layer, the carry and the ys; and what they find."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

ROOT = Path(__file__).parents[2]
PROGRAM = """\
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn import ArrayStacked, BlockSeq, load_unstacked


class Block(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array, scale: float) -> jax.Array:
        return x


class Other(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return x


def pair(layer: Block, x: jax.Array) -> tuple[jax.Array, int]:
    return x, 1


def kept(layer: Block, carry: tuple[jax.Array, jax.Array | None]) -> tuple[jax.Array, jax.Array]:
    return carry[0], carry[0]


x = jnp.ones(1)
stack = ArrayStacked.of([Block(x)])
reveal_type(stack)  # ArrayStacked[Block]
reveal_type(stack.fold_via(Block.__call__)(x, 1.0))  # Array
reveal_type(stack.fold_via(Block.__call__, in_axes=0)(x, [1.0]))  # Array
reveal_type(stack.scan_via(pair)(x))  # tuple[Array, int]
reveal_type(stack.collect_via(pair)(x))  # tuple[Array, list[int]]
reveal_type(stack.map_via(Block.__call__)(x, 1.0))  # list[Array]
reveal_type(stack.fold_via(kept)((x, None)))  # tuple[Array, Array]
reveal_type(stack[0])  # Block
reveal_type(stack[1:])  # list[Block]
reveal_type(stack.with_layer(0, Block(x)))  # ArrayStacked[Block]
reveal_type(BlockSeq.of([Block(x)]))  # BlockSeq[Block]
BlockSeq.of([jnp.sin])
listed: Sequence[Block] = stack
reveal_type(stack[jnp.argmax(x)])  # Block
reveal_type([layer for layer in stack])  # list[Block]
reveal_type(load_unstacked("old.eqx", Block(x)))  # Block
reveal_type(load_unstacked("old.eqx", lambda: Block(x)))  # Block
stack.fold_via(Other.__call__)  # error
stack.fold_via(Block.__call__)(x)  # error
stack.unknown  # error
ArrayStacked.of([Block(x)], gradient_checkpointing="nestd")  # error
ArrayStacked.of([jnp.sin])  # error
"""


@pytest.mark.whole  # most of it reads jax for mypy
def test_mypy_knows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", "--no-error-summary"]
    if request.config.pluginmanager.hasplugin("cacheprovider"):  # what it knows of jax and numpy, for later runs
        options.append(f"--cache-dir={request.config.cache.mkdir('mypy')}")
    told = api.run([*options, "program.py"])[0]
    lines: dict[int, str] = {}
    for line in told.splitlines():
        found = re.match(r'program\.py:(\d+): (error|note: Revealed type is "(.*)")', line)
        if found:
            lines[int(found[1])] = found[3] or "error"
    compare(lines, told)


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed (`make pyright` installs it)")
def test_pyright_knows_them(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable, "program.py"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    lines: dict[int, str] = {}
    for one in json.loads(told)["generalDiagnostics"]:
        revealed = re.match(r'Type of ".*" is "(.*)"', one["message"])
        lines[one["range"]["start"]["line"] + 1] = revealed[1] if revealed else one["severity"]
    compare(lines, told)


def compare(lines: dict[int, str], told: str) -> None:
    """What was told of each line of the program against what stands behind it."""
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        wanted = line.partition("  # ")[2]
        got = re.sub(r"(\w+\.)+(?=\w)", "", lines.get(number, ""))
        assert got == wanted, f"line {number}: {line}\n{told}"
