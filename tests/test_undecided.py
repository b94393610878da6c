"""Loops whose layers the source leaves open: they are counted, shown on demand, and fail nothing."""

import json
from pathlib import Path

import pytest

from tests.command import Tool

OPEN = """\
import equinox as eqx


def run(blocks, x):
    for block in blocks:
        x = block(x)
    return x
"""
REFUSED = """\
import equinox as eqx


class Model(eqx.Module):
    layers: list[eqx.nn.Linear]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
            if x.sum() > 0:
                break
        return x
"""


@pytest.fixture
def opened(tool: Tool, tmp_path: Path) -> Tool:
    (tmp_path / "open.py").write_text(OPEN)
    return tool


def test_they_are_counted_and_not_findings(opened: Tool) -> None:
    result = opened("check", ".")
    assert (result.code, result.out) == (0, "No loop over layers in 1 file; 1 undecided (see --undecided).\n")


def test_on_demand_they_are_shown_with_what_is_open(opened: Tool) -> None:
    result = opened("check", ".", "--undecided", "--format", "concise")
    assert result.code == 0
    assert (
        "open.py:5: SCN215 loop over blocks is undecided: nothing shows that three layers share a body: the caller gives"
        in result.out
    )
    assert result.out.endswith("No loop over layers in 1 file; 1 undecided.\n")


def test_what_is_refused_stays_a_finding(opened: Tool, tmp_path: Path) -> None:
    (tmp_path / "refused.py").write_text(REFUSED)
    result = opened("check", ".")
    assert "SCN205" in result.out and "SCN215" not in result.out
    assert (
        "1 loop over layers in 2 files: 0 can be rewritten, 1 left alone; 1 undecided (see --undecided)." in result.out
    )


@pytest.mark.parametrize("shown", [False, True])
def test_programs_read_their_number_and_their_status(opened: Tool, *, shown: bool) -> None:
    asked = ["--undecided"] if shown else []
    document = json.loads(opened("check", ".", "--format", "json", *asked).out)
    assert document["undecided"] == 1
    assert [each["status"] for each in document["loops"]] == ["undecided"] * shown


def test_a_rewrite_counts_them_too(opened: Tool) -> None:
    result = opened("rewrite", "open.py")
    assert result.code == 0
    assert result.err.endswith("Nothing to rewrite in 1 file; 1 undecided (`scanify check --undecided` shows them).\n")


CACHES = """\
import equinox as eqx


class Model(eqx.Module):
    layers: list

    def __init__(self, layers):
        self.layers = layers

    def __call__(self, caches, x):
        new = []
        for layer, cache in zip(self.layers, caches):
            x, cache = layer(x, cache)
            new.append(cache)
        return x, new
"""
CASES = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Layer(eqx.Module):
    scale: jax.Array

    def __call__(self, x, cache):
        return x + cache, cache * self.scale


def decoder(module):
    return module.Model([Layer(jnp.array(1.0 + i)) for i in range(4)]), ([jnp.ones(3)] * 4, jnp.ones(3))
"""


def test_what_a_case_runs_and_a_cost_holds_back_is_said(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(CACHES)
    (tmp_path / "cases.py").write_text(CASES)
    result = tool("rewrite", "model.py", "--case", "cases.py:decoder")
    assert result.code == 1
    assert "unsafe (cost): each call copies `caches`" in result.err
    assert "`--accept cost` takes it unverified" in result.err
    assert result.err.endswith("see --accept).\n") and "1 loop held back" in result.err
