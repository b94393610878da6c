"""Files of `equinox.tree_serialise_leaves`: the converted file is, byte for byte, the one that Equinox writes."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.checkpoints.convert import convert_leaves
from scanify.errors import ScanifyError
from scanify.nn import ArrayStacked, BlockSeq
from tests.checkpoints.models import Block, Model, listed, nested, with_layers


def round_trip(folder: Path, before: Any, after: Any) -> None:
    """The file of `before` becomes that of `after`, and that one the first again."""
    old, new, made = folder / "old.eqx", folder / "new.eqx", folder / "made.eqx"
    eqx.tree_serialise_leaves(old, before)
    eqx.tree_serialise_leaves(new, after)
    like = eqx.filter_eval_shape(lambda: after)
    convert_leaves(old, made, lambda: like, to_list=False)
    assert made.read_bytes() == new.read_bytes()
    convert_leaves(new, made, lambda: like, to_list=True)
    assert made.read_bytes() == old.read_bytes()


@pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of])
class TestBothWays:
    def test_a_model(self, tmp_path: Path, kind: Any) -> None:
        round_trip(tmp_path, listed(), with_layers(listed(), kind))

    def test_stacks_within_stacks(self, tmp_path: Path, kind: Any) -> None:
        round_trip(tmp_path, nested(list), nested(kind))

    def test_dtypes_that_numpy_does_not_know(self, tmp_path: Path, kind: Any) -> None:
        def cast(model: Model) -> Model:
            arrays, rest = eqx.partition(model, eqx.is_inexact_array)
            return eqx.combine(
                jax.tree.map(lambda x: x.astype(jnp.float8_e4m3fn if x.ndim > 1 else jnp.float8_e5m2), arrays), rest
            )

        round_trip(tmp_path, cast(listed()), with_layers(cast(listed()), kind))

    def test_what_stands_before_the_leaves(self, tmp_path: Path, kind: Any) -> None:
        old, new = tmp_path / "old.eqx", tmp_path / "new.eqx"
        line = json.dumps({"depth": 4}).encode() + b"\n"
        after = with_layers(listed(), kind)
        with old.open("wb") as file:
            file.write(line)
            eqx.tree_serialise_leaves(file, listed())
        convert_leaves(old, new, lambda: after, to_list=False)
        with new.open("rb") as file:
            assert file.readline() == line
            assert eqx.tree_equal(eqx.tree_deserialise_leaves(file, after), after)


def test_layers_of_several_kinds(tmp_path: Path) -> None:
    keys = jax.random.split(jax.random.key(0), 5)
    layers = [Block(k) if at % 2 else eqx.nn.Linear(3, 3, key=k) for at, k in enumerate(keys)]
    round_trip(tmp_path, layers, BlockSeq.of(layers))


class TestASharedLayer:
    """It is saved at each of its places, which hold copies: after an update they differ."""

    def layers(self) -> list[Block]:
        one, other = (Block(k) for k in jax.random.split(jax.random.key(0)))
        return [one, other, one]

    def test_is_copied(self, tmp_path: Path) -> None:
        round_trip(tmp_path, self.layers(), BlockSeq.of(self.layers()))

    def test_its_copies_may_have_come_apart(self, tmp_path: Path) -> None:
        apart = eqx.tree_at(lambda x: x[2].linear.bias, self.layers(), jnp.ones(3))
        round_trip(tmp_path, apart, BlockSeq.of(apart))


class TestRefused:
    def refused(self, folder: Path, saved: Any, like: Any, message: str, *, to_list: bool = False) -> None:
        eqx.tree_serialise_leaves(folder / "old.eqx", saved)
        with pytest.raises(ScanifyError, match=message):
            convert_leaves(folder / "old.eqx", folder / "new.eqx", lambda: like, to_list=to_list)
        assert not (folder / "new.eqx").exists()

    def test_fewer_layers(self, tmp_path: Path) -> None:
        like = with_layers(listed(4), ArrayStacked.of)
        self.refused(tmp_path, listed(3), like, "expected the 28 leaves that the list form .* got 22")

    def test_other_shapes_with_as_many_leaves(self, tmp_path: Path) -> None:
        like = with_layers(listed(), ArrayStacked.of)
        wrong = eqx.tree_at(lambda m: m.layers[2].scale, listed(), jnp.ones(3, jnp.bfloat16))
        self.refused(tmp_path, wrong, like, r"leaf 16 is .*\[3\], expected bfloat16\[2\] for .layers\[2\].scale")

    def test_another_dtype(self, tmp_path: Path) -> None:
        like = with_layers(listed(), ArrayStacked.of)
        wrong = eqx.tree_at(lambda m: m.layers[2].linear.bias, listed(), np.ones(3, np.float16))
        self.refused(tmp_path, wrong, like, r"leaf 15 is <f2\[3\], expected float32\[3\] for .layers\[2\].linear.bias")

    def test_numbers_that_a_stack_has_once(self, tmp_path: Path) -> None:
        wrong = eqx.tree_at(lambda m: m.layers[2].heads, listed(), 5)
        self.refused(tmp_path, wrong, with_layers(listed(), ArrayStacked.of), "heads are kept once")

    def test_a_file_that_is_stacked_already(self, tmp_path: Path) -> None:
        like = with_layers(listed(), ArrayStacked.of)
        self.refused(tmp_path, like, like, "the file has those of the stacked form already")
        self.refused(tmp_path, listed(), like, "the file has those of the list form already", to_list=True)

    def test_a_tree_without_stacks(self, tmp_path: Path) -> None:
        self.refused(tmp_path, listed(), listed(), "expected a tree with stacks of layers")

    def test_random_keys(self, tmp_path: Path) -> None:
        like = (with_layers(listed(), ArrayStacked.of), jax.random.key(0))
        self.refused(tmp_path, listed(), like, r"saves no PRNG key arrays, .* \[1\]. Keep `jax.random.key_data")

    def test_a_file_that_was_cut_off(self, tmp_path: Path) -> None:
        eqx.tree_serialise_leaves(tmp_path / "whole.eqx", listed())
        (tmp_path / "old.eqx").write_bytes((tmp_path / "whole.eqx").read_bytes()[:-3])
        like = with_layers(listed(), ArrayStacked.of)
        with pytest.raises(ScanifyError, match="ends within leaf 27; it was not written to its end"):
            convert_leaves(tmp_path / "old.eqx", tmp_path / "new.eqx", lambda: like, to_list=False)

    def test_an_array_in_fortran_order(self, tmp_path: Path) -> None:
        wrong = eqx.tree_at(lambda m: m.layers[0].linear.weight, listed(), np.asfortranarray(np.ones((3, 3))))
        self.refused(
            tmp_path, wrong, with_layers(listed(), ArrayStacked.of), "leaf 2 is a NumPy array in Fortran order"
        )
