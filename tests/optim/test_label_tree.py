"""Labels and masks of models with stacks, as they would be for lists."""

from typing import Any

import equinox as eqx
import jax
import pytest

from scanify.nn import ArrayStacked, BlockSeq
from scanify.optim import label_tree, weight_decay_mask
from tests.checkpoints.models import listed, nested, with_layers

KINDS = pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of])


@KINDS
def test_paths_and_shapes_are_those_of_a_layer(kind: Any) -> None:
    seen: dict[str, Any] = {}
    label_tree(lambda path, leaf: seen.__setitem__(path, getattr(leaf, "shape", leaf)), with_layers(listed(), kind))
    expected = jax.tree_util.tree_flatten_with_path(listed())[0]
    assert seen == {jax.tree_util.keystr(path): leaf.shape if eqx.is_array(leaf) else leaf for path, leaf in expected}


@KINDS
def test_a_mask_by_rank(kind: Any) -> None:
    expected = jax.tree.map(lambda x: eqx.is_array(x) and x.ndim > 1, nested(list))
    found = weight_decay_mask(nested(kind))
    assert [outer.bias for outer in found.layers] == [False] * 3
    for outer, other in zip(found.layers, expected.layers, strict=True):
        assert jax.tree.leaves(list(outer.inner)) == jax.tree.leaves(other.inner)
    assert jax.tree.structure(found) == jax.tree.structure(nested(kind))


def test_two_labels_for_one_array_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"\.layers\[\d\]\.\S+ and \.layers\[\d\]\.\S+ are kept as one array, .*per_layer"
    ):
        label_tree(lambda path, leaf: "layers[0]" in path, with_layers(listed(), ArrayStacked.of))
