"""Lifted transformations of Flax Linen: layers with batch norm and dropout, each over a batch by `nn.vmap`, in a lifted scan.

The loop is what `--target linen` is given; the scan by hand is left alone, and proved equal to the loop.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.errors import ScanifyError
from scanify.pipeline import Project
from scanify.verify.compare.compare import compare_case
from scanify.verify.verdict import CaseResult, Status
from tests.emit.targets.models import rewritten
from tests.systems.transformed import TRANSFORMATIONS

nn: Any = pytest.importorskip("flax.linen", reason="flax is not installed")

HEAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        h = nn.Dense(4, name="hidden")(x)
        h = nn.BatchNorm(axis_name="batch", use_running_average=not train)(h)
        h = nn.Dropout(0.5, deterministic=not train)(nn.relu(h))
        return x + nn.Dense(2, name="out")(h)


class Layer(nn.Module):
    @nn.compact
    def __call__(self, xs, train):
        Mapped = nn.vmap(
            MLP,
            variable_axes={"params": None, "batch_stats": None},
            split_rngs={"params": False, "dropout": True},
            in_axes=(0, None),
            axis_name="batch",
        )
        return Mapped(name="mlp")(xs, train)


"""
LOOP = (
    HEAD
    + """\
class Model(nn.Module):
    depth: int = 3

    @nn.compact
    def __call__(self, xs, train=True):
        for i in range(self.depth):
            xs = Layer(name=f"layer_{i}")(xs, train)
        return nn.Dense(1, name="head")(xs)
"""
)
SCAN = (
    HEAD
    + """\
class Step(nn.Module):
    train: bool

    @nn.compact
    def __call__(self, xs, _):
        return Layer(name="layer")(xs, self.train), None


class Model(nn.Module):
    depth: int = 3

    @nn.compact
    def __call__(self, xs, train=True):
        Layers = nn.scan(
            Step,
            variable_axes={"params": 0, "batch_stats": 0},
            split_rngs={"params": True, "dropout": True},
            length=self.depth,
        )
        xs, _ = Layers(train)(xs, None)
        return nn.Dense(1, name="head")(xs)
"""
)
XS = jnp.linspace(-1.0, 2.0, 10).reshape(5, 2)


BY_HAND = {"ScanStep_0.layer": "layer_*"}


def case(text: str, mapping: Any = None) -> Callable[[], Any]:
    def build() -> Any:
        module = ModuleType("lifted_model_under_test")
        sys.modules[module.__name__] = module
        exec(compile(text, f"{module.__name__}.py", "exec"), module.__dict__)
        given = {"rngs": {"dropout": jax.random.key(1)}, "mutable": ["batch_stats"], "train": True}
        return module.Model(), (XS,), given

    if mapping is not None:
        build.mapping = mapping  # type: ignore[attr-defined]
    return build


def compared(before: str, after: str, mapping: Any = None) -> CaseResult:
    """Both models; `mapping` says which modules belong together where their names do not tell."""
    versions = case(before, mapping), case(after, mapping)
    return compare_case("lifted", *versions, policies=(None,), requested=None, abstract=False, measure=False)


def words(result: CaseResult) -> set[str]:
    found = [result.parameters, result.tangents, result.batched, result.keys]
    found += [each for policy in result.policies for each in (policy.outputs, policy.gradients)]
    return {each.status.name for each in found if each is not None}


@pytest.mark.parametrize("remat", [pytest.param("none", marks=pytest.mark.whole), "full"])
def test_the_loop_becomes_a_lifted_scan(remat: str, tmp_path: Path) -> None:
    after, outcome = rewritten(LOOP, tmp_path, "linen", remat=remat)
    assert len(outcome.applied) == 1 and "nn.scan(" in after
    result = compared(LOOP, after)
    assert result.good and words(result) == {Status.PROVED.name}
    assert result.proviso == "for the same parameters, and up to a renaming of random streams"


@pytest.mark.whole
@pytest.mark.parametrize("mapping", [None, BY_HAND], ids=["found", "said"])
def test_the_scan_by_hand_is_the_loop(mapping: Any) -> None:
    """The class that is lifted holds the layer, so that its variables stand deeper than in the loop."""
    result = compared(LOOP, SCAN, mapping)
    assert words(result) == {Status.PROVED.name}
    assert result.proviso == "for the same parameters, and up to a renaming of random streams"
    assert "ScanStep_0.layer is layer_0..layer_2" in result.notes[0]


def test_a_mapping_to_a_module_that_stands_higher_is_a_mistake() -> None:
    with pytest.raises(ScanifyError, match=r"head of the scan to stand at least as deep as layer_\*.mlp of the loop"):
        compared(LOOP, SCAN, {"head": "layer_*.mlp"})


def test_the_scan_by_hand_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(SCAN)
    found = Project.load([path]).analyse(remarks=True, target="linen")
    assert not found.loops and not found.remarks


WRONG = {
    "one dropout key for all layers": ('"params": True, "dropout": True}', '"params": True, "dropout": False}'),
    "one layer fewer": ("length=self.depth", "length=self.depth - 1"),
    "another rate": ("nn.Dropout(0.5", "nn.Dropout(0.25"),
}


@pytest.mark.whole
@pytest.mark.parametrize("what", [pytest.param("another rate", marks=pytest.mark.whole), *list(WRONG)[:2]])
def test_a_scan_that_is_another_model_is_found_out(what: str) -> None:
    old, new = WRONG[what]
    assert SCAN.count(old) == 1
    assert Status.FAILED.name in words(compared(LOOP, SCAN.replace(old, new)))


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The loop and what is written of it, as functions of the loop's parameters and the batch."""
    after, _ = rewritten(LOOP, tmp_path_factory.mktemp("lifted"), "linen", remat="none")
    models = [case(text)()[0] for text in (LOOP, after)]
    both = [jax.tree.map(jnp.asarray, model.init(jax.random.key(0), XS, train=False)) for model in models]
    loop = both[0]
    names = [f"layer_{number}" for number in range(3)]

    def stacked(variables: Any) -> Any:
        return {
            kind: {
                **{name: each for name, each in held.items() if name not in names},
                **(_stack([held[name] for name in names], both[1][kind]) if names[0] in held else {}),
            }
            for kind, held in variables.items()
        }

    assert jax.tree.structure(stacked(loop)) == jax.tree.structure(both[1])
    yield SimpleNamespace(
        variables=loop,
        loop=lambda variables, xs: models[0].apply(variables, xs, train=False),
        scan=lambda variables, xs: models[1].apply(stacked(variables), xs, train=False),
    )


def _stack(layers: list[Any], held: Any) -> Any:
    """The layers under the name that the scan has for them."""
    (name,) = held.keys() - {"head"}
    return {name: jax.tree.map(lambda *each: jnp.stack(each), *layers)}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.whole
def test_each_transformation_gives_what_it_gives_of_the_loop(system: SimpleNamespace, name: str) -> None:
    loop, scan = (TRANSFORMATIONS[name](each, system.variables, XS) for each in (system.loop, system.scan))
    assert jax.tree.structure(loop) == jax.tree.structure(scan)
    for one, two in zip(jax.tree.leaves(loop), jax.tree.leaves(scan), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_the_program_holds_a_layer_once(system: SimpleNamespace) -> None:
    loop, scan = (str(jax.make_jaxpr(each)(system.variables, XS)) for each in (system.loop, system.scan))
    assert (loop.count(" rsqrt "), scan.count(" rsqrt ")) == (3, 1)
