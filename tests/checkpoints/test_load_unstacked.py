"""`load_unstacked`: old checkpoints in rewritten models, by order and by names."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, load_unstacked, to_state_dict
from tests.checkpoints.models import listed, nested, with_layers

KINDS = pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of])


@KINDS
class TestEquinox:
    def test_a_model_without_weights_is_filled(self, tmp_path: Path, kind: Any) -> None:
        eqx.tree_serialise_leaves(tmp_path / "old.eqx", listed(seed=1))
        like = eqx.filter_eval_shape(lambda: with_layers(listed(), kind))
        expected = with_layers(listed(seed=1), kind)
        assert eqx.tree_equal(load_unstacked(tmp_path / "old", like), expected, typematch=True)
        assert eqx.tree_equal(load_unstacked(tmp_path / "old.eqx", expected), expected, typematch=True)

    def test_stacks_within_stacks(self, tmp_path: Path, kind: Any) -> None:
        eqx.tree_serialise_leaves(tmp_path / "old.eqx", nested(list, seed=1))
        assert eqx.tree_equal(load_unstacked(tmp_path / "old.eqx", nested(kind)), nested(kind, seed=1), typematch=True)

    def test_from_where_an_open_file_stands(self, tmp_path: Path, kind: Any) -> None:
        with (tmp_path / "old.eqx").open("w+b") as file:
            file.write(json.dumps({"depth": 4}).encode() + b"\n")
            eqx.tree_serialise_leaves(file, listed(seed=1))
            file.seek(0)
            assert json.loads(file.readline()) == {"depth": 4}
            loaded = load_unstacked(file, with_layers(listed(), kind))
        assert eqx.tree_equal(loaded, with_layers(listed(seed=1), kind), typematch=True)


def test_numpy_arrays_stay_such_and_float8_is_read(tmp_path: Path) -> None:
    def other(seed: int) -> Any:
        model = eqx.tree_at(lambda m: m.head.bias, listed(seed=seed), np.full(2, seed, np.float64))
        return eqx.tree_at(lambda m: m.embed.bias, model, jnp.full(3, seed, jnp.float8_e5m2))

    eqx.tree_serialise_leaves(tmp_path / "old.eqx", other(1))
    loaded = load_unstacked(tmp_path / "old.eqx", with_layers(other(0), ArrayStacked.of))
    assert eqx.tree_equal(loaded, with_layers(other(1), ArrayStacked.of), typematch=True)


def test_arrays_are_sharded_as_those_they_replace(tmp_path: Path) -> None:
    mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "data"))
    stacked = with_layers(listed(), ArrayStacked.of)
    weight = lambda m: m.layers.stacked.linear.weight  # noqa: E731
    like = eqx.tree_at(weight, stacked, jax.device_put(weight(stacked), sharding))
    eqx.tree_serialise_leaves(tmp_path / "old.eqx", listed(seed=1))
    assert weight(load_unstacked(tmp_path / "old.eqx", like)).sharding == sharding


def arrays(seed: int, prefix: str = "") -> dict[str, Any]:
    return {name: np.asarray(leaf) for name, leaf in to_state_dict(listed(seed=seed), prefix).items()}


@KINDS
class TestNames:
    @pytest.mark.parametrize("prefix", ["", "model"])
    def test_an_archive(self, tmp_path: Path, kind: Any, prefix: str) -> None:
        np.savez(tmp_path / "old.npz", **arrays(1, prefix))
        loaded = load_unstacked(tmp_path / "old.npz", with_layers(listed(), kind), prefix)
        assert eqx.tree_equal(loaded, with_layers(listed(seed=1), kind), typematch=True)

    def test_safetensors(self, tmp_path: Path, kind: Any) -> None:
        numpy = pytest.importorskip("safetensors.numpy", reason="safetensors writes the file that is loaded here")
        numpy.save_file(arrays(1), tmp_path / "old.safetensors")
        loaded = load_unstacked(tmp_path / "old.safetensors", with_layers(listed(), kind))
        assert eqx.tree_equal(loaded, with_layers(listed(seed=1), kind), typematch=True)

    def test_a_name_that_is_missing(self, tmp_path: Path, kind: Any) -> None:
        given = arrays(1)
        del given["layers.2.scale"]
        np.savez(tmp_path / "old.npz", **given)
        with pytest.raises(ValueError, match=r"1 of 20 names are missing: 'layers.2.scale'"):
            load_unstacked(tmp_path / "old.npz", with_layers(listed(), kind))

    def test_bytes_of_another_width(self, tmp_path: Path, kind: Any) -> None:
        given = arrays(1)
        np.savez(tmp_path / "old.npz", **given | {"layers.2.scale": np.zeros(2, np.float32)})
        with pytest.raises(ValueError, match=r"'layers.2.scale': expected bfloat16\[2\], got float32\[2\]"):
            load_unstacked(tmp_path / "old.npz", with_layers(listed(), kind))


def test_what_does_not_fit(tmp_path: Path) -> None:
    eqx.tree_serialise_leaves(tmp_path / "old.eqx", listed(3))
    with pytest.raises(ValueError, match="expected the 28 leaves that the list form of the given tree has, got 22"):
        load_unstacked(tmp_path / "old.eqx", with_layers(listed(4), ArrayStacked.of))
    with pytest.raises(ValueError, match=r"expected a checkpoint, got .*gone.eqx, which does not exist"):
        load_unstacked(tmp_path / "gone", with_layers(listed(4), ArrayStacked.of))
