"""haliax's `ArrayStacked` in place of the loops of whole models: PROVED where it is right, and found out where not.

haliax indexes the stacked parameters in the body of its scan, so that their cotangents are scattered and summed. It is
the dependency group `haliax`, for Python 3.11 only; without it the tests are skipped.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scanify.pipeline import Project, rewrite_sources
from scanify.source.discover import Selection
from scanify.verify.compare.compare import compare_case
from scanify.verify.verdict import CaseResult, Operation, PolicyResult, Status
from tests import fixture_helpers
from tests.fixture_helpers import fixture, replaced, thunk, write
from tests.nn.side_by_side import needs_haliax

pytestmark = needs_haliax

OURS, THEIRS = "from scanify.nn import ArrayStacked", "from tests.verify.haliax_stack import ArrayStacked"
CASES = ("gpt:gpt_small", "llama:llama_training", "vit:vit", "mixer:mixer", "moe:moe", "film:film", "encoder:encoder")


def on_haliax(name: str, remat: str, folder: Path) -> dict[str, str]:
    """The texts of a fixture, rewritten so that its list is stacked in the call, by haliax."""
    each = fixture(name)
    outcome = rewrite_sources(
        Project.load([write(each.before, folder)], selection=Selection(folder)), stack="call", remat=remat
    )
    texts = {path.relative_to(folder).as_posix(): after.decode() for path, (_, after) in outcome.changes.items()}
    return dict(replaced({**each.before, **texts}, each.target, (OURS, THEIRS)))


def compared(before: Callable[[], Any], after: Callable[[], Any]) -> PolicyResult:
    result: CaseResult = compare_case(
        "haliax",
        before,
        after,
        policies=(None,),
        requested=None,
        abstract=False,
        measure=False,
        files=lambda name: name if name == "model_under_test.py" else fixture_helpers.files(name),
    )
    assert result.parameters is not None and result.parameters.status is Status.PROVED
    (policy,) = result.policies
    return policy


# Under every policy one model is enough: what differs is the scan, not the layer.
RUNS = [
    *((case, remat) for case in CASES for remat in ("none", "nested")),
    ("film:film", "full"),
    ("film:film", "save_all"),
]


@pytest.mark.parametrize(("case", "remat"), RUNS, ids=[f"{case} {remat}" for case, remat in RUNS])
def test_the_models_on_haliax_are_proved_to_be_the_loops(case: str, remat: str, tmp_path: Path) -> None:
    name, function = case.split(":")
    each = fixture(name)
    texts = on_haliax(name, remat, tmp_path / "source")
    versions = [
        thunk(write(files, tmp_path / which), each.target, each.case_file, function)
        for which, files in (("before", each.before), ("after", texts))
    ]
    policy = compared(*versions)
    assert (policy.outputs.status, policy.gradients.status) == (Status.PROVED, Status.PROVED), policy


# -- where haliax is wrong ----------------------------------------------------------------------------------------------

BLOCKS = """\
import equinox as eqx
import jax
import jax.numpy as jnp

from tests.nn.side_by_side import haliax
from tests.verify.haliax_stack import ArrayStacked


class Block(eqx.Module):
    weight: jax.Array
    rate: float

    def __call__(self, x, key):
        keep = jax.random.bernoulli(key, 1 - self.rate, x.shape)
        return x + jnp.where(keep, jnp.tanh(self.weight @ x), 0)


class Rated(eqx.Module):
    blocks: list[Block]

    def __call__(self, x, key):
        keys = jax.random.split(key, len(self.blocks))
        for block, key in zip(self.blocks, keys):
            x = block(x, key)
        return x


class Positioned(eqx.Module):
    weight: jax.Array
    positions: jax.Array

    @staticmethod
    def init(weight, positions):
        return Positioned(weight, positions)

    def __call__(self, x):
        total = jnp.sum(self.positions)
        return jnp.sin(x * self.weight + total)


class Weight(eqx.Module):
    weight: jax.Array


class Shared(eqx.Module):
    weights: list[Weight]
    positions: jax.Array

    def __call__(self, x):
        layers = [Positioned.init(each.weight, self.positions) for each in self.weights]
        for layer in layers:
            x = layer(x)
        return x
"""
RATES_OF_LAYER_0 = {
    """
        for block, key in zip(self.blocks, keys):
            x = block(x, key)
        return x
""": """
        return ArrayStacked.of(self.blocks).fold_via(Block.__call__, in_axes=(0,))(x, keys)
"""
}
SLICED_BY_LENGTH = {
    """
        layers = [Positioned.init(each.weight, self.positions) for each in self.weights]
        for layer in layers:
            x = layer(x)
        return x
""": """
        weights = jnp.stack([each.weight for each in self.weights])
        return haliax().nn.ArrayStacked.init(len(weights), Positioned)(weights, self.positions).fold(x)
"""
}
LAYERS = 4


def line_of(text: str) -> int:
    (found,) = [number for number, line in enumerate(BLOCKS.splitlines(), 1) if text in line]
    return found


def rated(module: ModuleType, rates: tuple[float, ...]) -> tuple[Any, tuple[Any, ...]]:
    keys = jax.random.split(jax.random.key(0), len(rates))
    blocks = [module.Block(jax.random.normal(k, (3, 3)), rate) for k, rate in zip(keys, rates, strict=True)]
    return module.Rated(blocks), (jnp.arange(3.0), jax.random.key(1))


def shared(module: ModuleType, length: int) -> tuple[Any, tuple[Any, ...]]:
    weights = [module.Weight(jnp.full(2, 1.0 + i)) for i in range(LAYERS)]
    return module.Shared(weights, jnp.linspace(0, 1, length)), (jnp.arange(2.0),)


def assert_found_at(policy: PolicyResult, text: str, line: int, layer: int) -> None:
    difference = policy.outputs.difference
    assert difference is not None
    assert difference.before == difference.after == Operation(text, "model_under_test.py", line, layer)


Load = Callable[[str, dict[str, str]], SimpleNamespace]


def test_equal_drop_rates_are_proved(load_twice: Load) -> None:
    two = load_twice(BLOCKS, RATES_OF_LAYER_0)
    policy = compared(*(lambda module=module: rated(module, (0.2,) * LAYERS) for module in (two.before, two.after)))
    assert (policy.outputs.status, policy.gradients.status) == (Status.PROVED, Status.PROVED), policy


def test_drop_rates_taken_from_layer_0_fail_at_the_line_that_reads_them(load_twice: Load) -> None:
    two = load_twice(BLOCKS, RATES_OF_LAYER_0)
    rates = (0.2, 0.2, 0.4, 0.6)
    policy = compared(*(lambda module=module: rated(module, rates) for module in (two.before, two.after)))
    assert policy.outputs.status is Status.FAILED
    assert_found_at(policy, "lt bool[3]", line_of("jax.random.bernoulli"), 2)
    difference = policy.outputs.difference
    assert difference is not None
    assert difference.what == (
        "layer 2: uses float literal 0.8 in every element of float32[3] where the loop uses float literal 0.6 in every "
        "element of float32[3]"
    )
    assert not policy.gradients.good


@pytest.mark.parametrize("length", [LAYERS - 1, LAYERS + 1])
def test_an_array_that_all_layers_share_is_proved_while_its_length_is_another(load_twice: Load, length: int) -> None:
    two = load_twice(BLOCKS, SLICED_BY_LENGTH)
    policy = compared(*(lambda module=module: shared(module, length) for module in (two.before, two.after)))
    assert (policy.outputs.status, policy.gradients.status) == (Status.PROVED, Status.PROVED), policy


def test_an_array_as_long_as_there_are_layers_fails_at_the_line_that_reads_it(load_twice: Load) -> None:
    two = load_twice(BLOCKS, SLICED_BY_LENGTH)
    policy = compared(*(lambda module=module: shared(module, LAYERS) for module in (two.before, two.after)))
    assert policy.outputs.status is Status.FAILED
    assert_found_at(policy, "reduce_sum float32[]", line_of("jnp.sum(self.positions)"), 0)
    assert not policy.gradients.good
