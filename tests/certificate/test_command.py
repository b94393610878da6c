"""`scanify verify --certificate FILE` and `--replay FILE`."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = """
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
        return x + jax.nn.gelu(self.linear(x))


class Net(eqx.Module):
    blocks: list

    def __init__(self, key):
        self.blocks = [Block(each) for each in jax.random.split(key, 3)]

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
CASES = """
import jax
import jax.numpy as jnp


def net(module):
    return module.Net(jax.random.key(0)), (jnp.ones(4),)
"""


def scanify(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scanify", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "model.py").write_text(MODEL)
    (folder / "cases.py").write_text(CASES)
    options = ("--case", "cases.py:net", "--abstract", "--no-measure", "--remat", "full")
    done = scanify(folder, "verify", "model.py", *options, "--certificate", "proof.json.gz")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proof.json.gz: a certificate of 7 proofs" in done.stderr
    return folder / "proof.json.gz"


def test_what_was_proved_is_replayed_without_the_model(written: Path, tmp_path: Path) -> None:
    done = scanify(tmp_path, "verify", "--replay", str(written))
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    assert [each.partition(":")[0] for each in shown[:-1]] == [
        "initial parameters",
        "outputs under full",
        "gradients under full",
        "forward derivatives",
        "outputs under vmap over x by 2",
        "outputs",
        "gradients",
    ]
    assert shown[-1] == "7 proofs hold"


def test_a_changed_file_is_rejected(written: Path, tmp_path: Path) -> None:
    given = json.loads(gzip.decompress(written.read_bytes()))
    given["cases"][0]["tables"]["jaxprs"][0][1][0][0] = "sin"
    (tmp_path / "changed.json").write_text(json.dumps(given))
    done = scanify(tmp_path, "verify", "--replay", "changed.json")
    assert done.returncode == 3
    assert "REJECTED" in done.stdout


def test_a_file_that_is_no_certificate_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    assert "REJECTED" in scanify(tmp_path, "verify", "--replay", "notes.txt").stdout
    assert "cannot be read" in scanify(tmp_path, "verify", "--replay", "none.json").stderr
    assert "give it alone" in scanify(tmp_path, "verify", "model.py", "--replay", "notes.txt").stderr
