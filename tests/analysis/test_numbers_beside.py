"""Python numbers that are walked beside the layers: a layer may take them for a size or an axis, as it may its index."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Holds, Plan

LOOP = "for layer, n in zip(self.layers, {}):\n    x = layer(x) + helper(n)"
INIT = "self.layers = [Block(8, key=k) for k in jr.split(key, depth)]\nself.sizes = [2 + i for i in range(depth)]"
LEVELS = """

from typing import NamedTuple


class Level(NamedTuple):
    nodes: np.ndarray
    count: int


class Grid(NamedTuple):
    nodes: np.ndarray
"""


def holds(walked: str, parameters: str = "x") -> Holds:
    text = model(LOOP.format(walked), init=INIT, parameters=parameters).replace(
        "    norm:", "    sizes: list\n    norm:"
    )
    found = only(text + LEVELS)
    assert isinstance(found, Plan), found
    return found.holds


@pytest.mark.parametrize(
    ("walked", "parameters"),
    [
        ("sizes", "x, sizes: list[int]"),
        ("sizes", "x, sizes: 'tuple[float, ...]'"),
        ("names", "x, names: list[str]"),
        ("levels", "x, levels: list[Level]"),
        ("pairs", "x, pairs: list[tuple[int, jax.Array]]"),
    ],
)
def test_equal_layers_with_equal_numbers_are_found_as_they_are_met(walked: str, parameters: str) -> None:
    assert holds(walked, parameters) is Holds.BLOCK_SEQ


@pytest.mark.parametrize(
    ("walked", "parameters"),
    [
        ("keys", "x, keys"),
        ("jr.split(key, 4)", "x, key"),
        ("arrays", "x, arrays: list[jax.Array]"),
        ("jnp.arange(len(self.layers))", "x"),
    ],
)
def test_arrays_are_one_stack(walked: str, parameters: str) -> None:
    assert holds(walked, parameters) is Holds.ARRAY_STACKED
