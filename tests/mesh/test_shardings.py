"""What a case says of where arrays lie, checked, and lifted to stacks."""

from collections.abc import Callable
from typing import Any

import jax
import pytest
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from scanify.errors import ScanifyError
from scanify.verify.leaves.correspond import Recipe
from scanify.verify.mesh.shardings import lifted, specs

MESH: Any = AbstractMesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
NAMES = ("layers[0].w", "layers[1].w", "head", "x")
AVALS = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((8, 16), (8, 16), (16,), (6, 8))]


def answered(rule: object) -> tuple[P, ...]:
    return specs(rule, NAMES, AVALS, MESH)


def tensor(path: str, leaf: Any) -> P | None:
    if path.endswith("w"):
        return P(None, "model")
    return P("data") if path == "x" else None


def test_a_rule_is_given_paths_and_arrays() -> None:
    assert answered(tensor) == (P(None, "model"), P(None, "model"), P(), P("data"))
    assert answered(lambda path, leaf: P("model") if leaf.shape == (16,) else None)[2] == P("model")


def test_in_a_stack_the_axis_of_the_layers_is_not_sharded() -> None:
    recipes = [Recipe((0, 1), (2,)), Recipe((2,)), Recipe((3,))]
    own = lifted(answered(tensor), recipes, NAMES, MESH)
    assert [each.spec for each in own] == [P(None, None, "model"), P(), P("data")]
    assert lifted(answered(tensor), [Recipe((0, 1), (1, 2))], NAMES, MESH)[0].spec == P(None, None, None, "model")


def test_layers_that_lie_differently_cannot_be_one_stack() -> None:
    found = answered(lambda path, leaf: P("data") if path == "layers[1].w" else None)
    with pytest.raises(ScanifyError, match=r"one array.*layers\[0\]\.w.*layers\[1\]\.w"):
        lifted(found, [Recipe((0, 1), (2,))], NAMES, MESH)


def test_what_means_the_same_is_the_same() -> None:
    found = answered(lambda path, leaf: P(("data",), None) if path == "layers[1].w" else P("data"))
    assert lifted(found, [Recipe((0, 1), (2,))], NAMES, MESH)[0].spec == P(None, "data")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (None, "it has none"),
        ({"w": P("model")}, "it is dict"),
        (lambda path, leaf: "model", "expected a jax.sharding.PartitionSpec or None"),
        (lambda path, leaf: P("data", None, None), r"layers\[0\].w, float32\[8, 16\]: the array has 2 axes"),
        (lambda path, leaf: P("tensor"), "the mesh has no axis tensor; it has data, model"),
        (lambda path, leaf: P(("data", "model")) if path == "x" else None, "an axis of 6 cannot be cut into 8"),
        (lambda path, leaf: P("data", "data"), "one axis of an array alone"),
    ],
)
def test_what_does_not_fit_is_told(rule: Callable[[str, Any], Any] | None, message: str) -> None:
    with pytest.raises(ScanifyError, match=message):
        answered(rule)


class TestPipeline:
    STACK = (Recipe((0, 1), (2,)), Recipe((2,)))

    def test_the_first_axis_of_a_stack_is_cut_over_it_and_nothing_else(self) -> None:
        own = lifted(answered(tensor), self.STACK, NAMES, MESH, "data")
        assert [each.spec for each in own] == [P("data", None, "model"), P()]
        nested = lifted(answered(tensor), [Recipe((0, 1), (2, 1))], NAMES, MESH, "data")
        assert nested[0].spec == P("data", None, None, "model")

    @pytest.mark.parametrize(
        ("pipeline", "message"),
        [
            ("stage", r"expected the case's `pipeline` to be an axis of the mesh \(data, model\), got 'stage'"),
            (2, "got 2"),
            ("model", r"over the axis 'model', which its `shardings` uses for layers\[0\].w"),
        ],
    )
    def test_what_cannot_be_is_told(self, pipeline: object, message: str) -> None:
        with pytest.raises(ScanifyError, match=message):
            lifted(answered(tensor), self.STACK, NAMES, MESH, pipeline)

    def test_layers_that_it_does_not_divide_are_named(self) -> None:
        found = answered(lambda path, leaf: None)
        with pytest.raises(ScanifyError, match=r"begins with layers\[0\].w has 2 layers, which 4 does not divide"):
            lifted(found, self.STACK, NAMES, MESH, "model")
