"""Checkpoints of ensembles: the layers of a stack lie behind the axis of the members."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.checkpoints import convert
from scanify.nn import ArrayStacked, BlockSeq, load_unstacked, members_first, to_state_dict
from tests.checkpoints.nests import check
from tests.command import Tool

MODEL = """\
import equinox as eqx
import jax


class Net(eqx.Module):
    layers: object

    def __init__(self, kind, key):
        self.layers = kind([eqx.nn.Linear(3, 3, key=k) for k in jax.random.split(key, 3)])


def ensemble(kind):
    return eqx.filter_vmap(lambda key: Net(kind, key))(jax.random.split(jax.random.key(0), 3))


def like():
    from scanify.nn import ArrayStacked

    return ensemble(ArrayStacked.of)
"""


def ensemble(kind: Any) -> Any:
    space: dict[str, Any] = {}
    exec(MODEL, space)
    return space["ensemble"](kind)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.whole if seed > 5 else ()) for seed in range(40)]
)
def test_nests_are_read_back_bit_for_bit(tmp_path: Path, seed: int) -> None:
    assert check(seed, tmp_path) is None


def test_as_many_members_as_layers(tool: Tool) -> None:
    tool.write("ensembles.py", MODEL)
    eqx.tree_serialise_leaves(tool.folder / "old.eqx", ensemble(list))
    assert tool("convert", "old.eqx", "new.eqx", "--like", "ensembles.py:like").code == 0
    stacked = ensemble(ArrayStacked.of)
    outlines = eqx.filter_eval_shape(lambda: stacked)
    weight = stacked.layers.stacked.weight
    for found in (
        eqx.tree_deserialise_leaves(tool.folder / "new.eqx", outlines),
        load_unstacked(tool.folder / "old.eqx", lambda: ensemble(ArrayStacked.of)),
        load_unstacked(tool.folder / "old.eqx", members_first(outlines)),
    ):
        assert jnp.array_equal(found.layers.stacked.weight, weight)
        assert not jnp.array_equal(found.layers.stacked.weight, weight.swapaxes(0, 1))


@pytest.mark.parametrize("kind", [ArrayStacked.of, BlockSeq.of], ids=["ArrayStacked", "BlockSeq"])
@pytest.mark.parametrize("out_axes", [1, 2, -1])
def test_members_behind_the_layers_are_refused(tool: Tool, kind: Any, out_axes: int) -> None:
    """As many members as layers, and as wide: the shapes are those of an ensemble with the members in front."""
    name = kind.__qualname__.partition(".")[0]
    file = f"behind_{name}_{out_axes % 4}.py"
    there = MODEL.replace("key))(", f"key), out_axes=eqx.if_array({out_axes}))(")
    tool.write(file, there.replace("ArrayStacked", name))
    space: dict[str, Any] = {}
    exec(there, space)
    build = lambda: space["ensemble"](kind)  # noqa: E731
    eqx.tree_serialise_leaves(tool.folder / "old.eqx", ensemble(list))
    done = tool("convert", "old.eqx", "new.eqx", "--like", f"{file}:like")
    assert (done.code, "Build the ensemble without `out_axes`" in done.err) == (2, True)
    assert not (tool.folder / "new.eqx").exists()
    with pytest.raises(ValueError, match=r"Build the ensemble without `out_axes`"):
        load_unstacked(tool.folder / "old.eqx", build)
    with pytest.raises(ValueError, match=r"axis of layers is not known"):
        load_unstacked(tool.folder / "old.eqx", build())


def test_a_constructor_that_needs_the_number_of_layers_does_not_show_the_axis(tmp_path: Path) -> None:
    def build() -> Any:
        net = ensemble(ArrayStacked.of)
        assert len(net.layers) == 3
        return net

    eqx.tree_serialise_leaves(tmp_path / "old.eqx", ensemble(list))
    with pytest.raises(ValueError, match=r"an added axis is as long as the stack"):
        load_unstacked(tmp_path / "old.eqx", build)
    load_unstacked(tmp_path / "old.eqx", lambda: members_first(build()))


def test_a_stack_that_is_not_built_anew_does_not_show_the_axis(tmp_path: Path) -> None:
    kept = ensemble(ArrayStacked.of)
    eqx.tree_serialise_leaves(tmp_path / "old.eqx", ensemble(list))
    with pytest.raises(ValueError, match=r"an added axis is as long as the stack"):
        load_unstacked(tmp_path / "old.eqx", lambda: kept)


def test_a_jitted_constructor_is_traced_again_and_not_kept(tmp_path: Path) -> None:
    build = eqx.filter_jit(lambda: ensemble(ArrayStacked.of))
    eqx.tree_serialise_leaves(tmp_path / "old.eqx", ensemble(list))
    for _ in range(2):
        loaded = load_unstacked(tmp_path / "old.eqx", lambda: build())
        assert jnp.array_equal(loaded.layers.stacked.weight, ensemble(ArrayStacked.of).layers.stacked.weight)
        assert len(build().layers) == 3


def test_names_leave_the_axis_open(tool: Tool) -> None:
    listed, stacked = (ensemble(kind) for kind in (list, ArrayStacked.of))
    np.savez(tool.folder / "old.npz", **{name: np.asarray(x) for name, x in to_state_dict(listed).items()})
    done = tool("convert", "old.npz", "new.npz", "--stack", "layers")
    assert (done.code, "--axis 0 if there is no ensemble, --axis 1 if there is" in done.err) == (2, True)
    assert not (tool.folder / "new.npz").exists()
    assert tool("convert", "old.npz", "new.npz", "--stack", "layers", "--axis", "1").code == 0
    with np.load(tool.folder / "new.npz") as file:
        assert np.array_equal(file["layers.weight"], stacked.layers.stacked.weight)
    done = tool("convert", "new.npz", "back.npz", "--unstack", "layers")
    assert (done.code, "--axis 1 if there is" in done.err) == (2, True)
    assert tool("convert", "new.npz", "back.npz", "--unstack", "layers", "--axis", "1").code == 0
    with np.load(tool.folder / "old.npz") as old, np.load(tool.folder / "back.npz") as back:
        assert set(old) == set(back) and all(np.array_equal(old[name], back[name]) for name in old)
    done = tool("convert", "old.npz", "far.npz", "--stack", "layers", "--axis", "4")
    assert (done.code, "cannot be stacked along axis 4" in done.err) == (2, True)
    done = tool("convert", "old.eqx", "far.eqx", "--like", "a.py:b", "--axis", "1")
    assert (done.code, "--axis and --nested go with --stack or --unstack" in done.err) == (2, True)


@pytest.mark.parametrize("shapes", [[(2, 3), (5,)], [(2, 3), ()], [(2,)], [(2, 3), (3,)]])
def test_sizes_leave_the_axis_open(tool: Tool, shapes: list[tuple[int, ...]]) -> None:
    """Members may share an array, whatever its size, a scalar too."""
    ones = {f"a{at}": np.ones(shape) for at, shape in enumerate(shapes)}
    np.savez(tool.folder / "old.npz", **{f"l.{at}.{name}": one for at in range(2) for name, one in ones.items()})
    np.savez(tool.folder / "new.npz", **{f"l.{name}": np.stack([one, one]) for name, one in ones.items()})
    for file, option in (("old.npz", "--stack"), ("new.npz", "--unstack")):
        done = tool("convert", file, f"made_{file}", option, "l")
        assert (done.code, "--axis 0 if there is no ensemble" in done.err) == (2, True)
        assert tool("convert", file, f"made_{file}", option, "l", "--axis", "0").code == 0


def test_scalars_leave_nothing_open(tool: Tool) -> None:
    np.savez(tool.folder / "old.npz", **{f"l.{i}.m.{j}.s": np.array(3 * i + j) for i in range(2) for j in range(3)})
    assert tool("convert", "old.npz", "new.npz", "--stack", "*m", "--stack", "l").code == 0
    with np.load(tool.folder / "new.npz") as file:
        assert file["l.m.s"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_lists_in_one_another_are_taken_in_their_order(tool: Tool) -> None:
    arrays = {f"l.{i}.m.{j}.w": np.array([i, j]) for i in range(2) for j in range(2)}
    np.savez(tool.folder / "old.npz", **arrays)
    np.savez(tool.folder / "half.npz", **{f"l.m.{j}.w": np.array([[0, j], [1, j]]) for j in range(2)})
    inner, outer = ("--stack", "*m"), ("--stack", "l")
    assert tool("convert", "old.npz", "new.npz", *inner, *outer, "--axis", "0").code == 0
    with np.load(tool.folder / "new.npz") as file:
        assert file["l.m.w"].tolist() == [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]
    inward, outward = ("--unstack", "*m"), ("--unstack", "l")
    for file_name, *options in (
        ("old.npz", *outer, *inner),
        ("new.npz", *inward, *outward),
        ("half.npz", *inner, *outward),
    ):
        done = tool("convert", file_name, "bad.npz", *options, "--axis", "0")
        assert (done.code, "name the inner one first with --stack" in done.err) == (2, True)
    assert tool("convert", "new.npz", "back.npz", *outward, *inward, "--axis", "0").code == 0
    with np.load(tool.folder / "back.npz") as file:
        assert {name: file[name].tolist() for name in file} == {name: each.tolist() for name, each in arrays.items()}


def test_a_file_that_is_read_back_as_another_is_not_written(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(file: Any, opened: Any, arrays: Any, about: Any) -> None:
        np.savez(file, **{array.name: opened.read(array) + (array.name == "l.w") for array in arrays})

    np.savez(tool.folder / "old.npz", **{f"l.{at}.w": np.ones(2) for at in range(2)})
    monkeypatch.setitem(convert.WRITE, "npz", write)
    before = tool.files()
    done = tool("convert", "old.npz", "new.npz", "--stack", "l", "--axis", "0")
    assert (done.code, "'l.0.w' (<f8[2]) is not what it was" in done.err) == (2, True)
    assert tool.files() == before


def test_moments_lie_as_the_parameters_do(tmp_path: Path) -> None:
    optax = pytest.importorskip("optax", reason="the state is one of optax")
    optimizer = optax.adam(1e-3)

    def run(kind: Any) -> Any:
        model = ensemble(kind)
        state = eqx.filter_vmap(lambda model: optimizer.init(eqx.filter(model, eqx.is_array)))(model)
        return model, jax.tree.map(lambda x: x + jnp.arange(x.size).reshape(x.shape).astype(x.dtype), state)

    def moment(run: Any, layer: int) -> Any:
        return run[1][0].nu.layers[layer].weight

    old = run(list)
    eqx.tree_serialise_leaves(tmp_path / "old.eqx", old)
    loaded = load_unstacked(tmp_path / "old.eqx", lambda: run(ArrayStacked.of))
    assert all(jnp.array_equal(moment(loaded, at), moment(old, at)) for at in range(3))
    assert loaded[1][0].nu.layers.stacked.weight.shape == (3, 3, 3, 3)
