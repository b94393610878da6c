"""The arrays of a module under their names."""

import copy
import pickle
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn.trees.named_arrays import NamedArrays


class Part(eqx.Module):
    _weight: Any
    table: dict[str, Any]
    parts: list[Any]
    rate: float = 0.5


PART = Part(jnp.ones(2), {"a": jnp.ones(3), "b": None}, [jnp.ones(4), 3, (jnp.ones(5),)])


def named(tree: Any) -> NamedArrays:
    found = [(path, leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0] if eqx.is_array(leaf)]
    return NamedArrays.of([path for path, _ in found], [leaf for _, leaf in found])


def test_arrays_have_the_names_and_the_order_that_they_have_in_the_module() -> None:
    made = named(PART)
    assert (made._weight.size, made.table["a"].size, made.parts[0].size, made.parts[2][0].size) == (2, 3, 4, 5)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(made)[0]]
    assert paths == ["._weight", ".table['a']", ".parts[0]", ".parts[2][0]"]
    assert [leaf.size for leaf in jax.tree.leaves(made)] == [2, 3, 4, 5]


def test_what_is_no_array_is_not_there() -> None:
    made = named(PART)
    assert not hasattr(made, "rate")
    for key in ("b", 1):
        with pytest.raises(KeyError):
            made.table[key]
    assert not isinstance(made, eqx.Module)


def test_of_nothing_there_is_nothing() -> None:
    assert jax.tree.leaves(named(eqx.nn.Identity())) == []


def test_arrays_under_one_path_have_numbers() -> None:
    path = (jax.tree_util.GetAttrKey("a"),)
    made = NamedArrays.of([path, path], [1.0, 2.0])
    assert (made[0], made[1]) == (1.0, 2.0)


def test_copies_are_equal() -> None:
    made = named(PART)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), jax.tree.map(lambda leaf: leaf, made)):
        assert jax.tree.structure(other) == jax.tree.structure(made)
        assert eqx.tree_equal(other, made)
