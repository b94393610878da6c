"""Data files that differ between a revision and the working tree: where the code looks at one there is no verdict."""

from dataclasses import replace
from pathlib import Path

import pytest

from scanify.verify.children.child import respond
from scanify.verify.versions.other_data import looked_at
from tests.verify.in_turn import proved, request

MODEL = """
import os
import json
from pathlib import Path

import equinox as eqx
import jax

HERE = Path(__file__).parent
LOOKS


class Model(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = jax.random.normal(key, (3,))

    def __call__(self, x):
        return x * self.w
"""
CASES = """
import jax
import jax.numpy as jnp


def case(module):
    return module.Model(jax.random.key(0)), (jnp.arange(3.0),)
"""
LOOKS = {
    "reads": "json.loads((HERE / 'data.json').read_text())",
    "asks": "(HERE / 'data.json').exists()",
    "lists": "list(HERE.glob('*.json'))",
    "runs a program": "import subprocess; subprocess.run(['cat', HERE / 'data.json'], stdout=-3)",
}


def compared(folder: Path, looks: str, name: str = "data.json") -> str | None:
    for file in ("one", "two"):
        (folder / f"{file}.py").write_text(MODEL.replace("LOOKS", looks))
    (folder / "cases.py").write_text(CASES)
    (folder / "data.json").write_text("{}")
    (result,) = respond(replace(request(folder), data=(folder / name,))).results
    assert result.error is not None or proved(result)
    return result.error


@pytest.mark.parametrize("name", LOOKS)
def test_there_is_no_verdict_on_code_that_looks_at_one(tmp_path: Path, name: str) -> None:
    error = compared(tmp_path, LOOKS[name])
    assert error is not None and "data.json is another file in the revision, and the code looks at it" in error


def test_files_that_nobody_looks_at_do_not_matter(tmp_path: Path) -> None:
    assert compared(tmp_path, "") is None
    assert compared(tmp_path, LOOKS["reads"], "notes.md") is None


def test_what_a_library_opens_by_itself_may_have_been_looked_at(tmp_path: Path) -> None:
    from scanify.verify.cache.consulted import Consulted

    assert looked_at((tmp_path / "weights.safetensors",), Consulted()) is not None
    assert looked_at((tmp_path / "README.md",), Consulted()) is None
