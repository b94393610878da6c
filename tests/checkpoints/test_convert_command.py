"""`scanify convert` on files: what libraries write, and what they read of what it writes."""

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, from_state_dict, to_state_dict
from tests.checkpoints.models import Model, listed, with_layers
from tests.command import Tool

LIKE = """\
import equinox as eqx
from scanify.nn import ArrayStacked
from tests.checkpoints.models import listed, with_layers


def like():
    return with_layers(listed(), ArrayStacked.of)


def case(module):
    return module.build(4), (1,)


def needs_weights():
    assert float(like().head.bias[0]) > 0


def two(a, b):
    pass
"""
BUILD = "import like\n\n\ndef build(depth):\n    return like.with_layers(like.listed(depth), like.ArrayStacked.of)\n"


def numpy_names(model: Model, *, stacked: bool) -> dict[str, Any]:
    return {name: np.asarray(leaf) for name, leaf in to_state_dict(model, stacked=stacked).items()}


def save(path: Path, arrays: dict[str, Any]) -> None:
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    else:
        from safetensors.numpy import save_file

        save_file(arrays, path, {"step": "7"})


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports of its folder is forgotten when it ends."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("like", "model"):
        sys.modules.pop(name, None)


@pytest.fixture(params=["npz", "safetensors"])
def ending(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "safetensors":
        pytest.importorskip("safetensors.numpy", reason="safetensors writes the files that are converted here")
    yield request.param


class TestFilesWithNames:
    def test_both_ways(self, tool: Tool, ending: str) -> None:
        old, new = (
            numpy_names(listed(), stacked=False),
            numpy_names(with_layers(listed(), ArrayStacked.of), stacked=True),
        )
        save(tool.folder / f"old.{ending}", old)
        save(tool.folder / f"new.{ending}", new)
        done = tool("convert", f"old.{ending}", f"made.{ending}", "--stack", "layers", "--axis", "0")
        assert done.code == 0
        assert f"wrote made.{ending}: 20 arrays became 8 (0.0 MiB, byte for byte)" in done.err
        assert tool("convert", f"made.{ending}", f"back.{ending}", "--unstack", "layers", "--axis", "0").code == 0
        for found, expected in (("made", "new"), ("back", "old")):
            self.same(tool.folder / f"{found}.{ending}", tool.folder / f"{expected}.{ending}")

    def same(self, found: Path, expected: Path) -> None:
        """What the library reads of a file, byte for byte."""
        if found.suffix != ".npz":
            from safetensors import deserialize as read

            assert sorted(read(found.read_bytes()), key=str) == sorted(read(expected.read_bytes()), key=str)
            assert b'"__metadata__":{"step":"7"}' in found.read_bytes()
            return
        with zipfile.ZipFile(found) as one, zipfile.ZipFile(expected) as other:
            assert sorted(one.namelist()) == sorted(other.namelist())
            assert all(one.read(name) == other.read(name) for name in one.namelist())

    def test_what_the_rewritten_model_loads(self, tool: Tool) -> None:
        np.savez(tool.folder / "old.npz", **numpy_names(listed(seed=1), stacked=False))
        assert tool("convert", "old.npz", "new.npz", "--stack", "layers", "--axis", "0").code == 0
        with np.load(tool.folder / "new.npz") as file:
            arrays = {name: jnp.asarray(x.view(jnp.bfloat16) if x.dtype == "V2" else x) for name, x in file.items()}
        loaded = from_state_dict(with_layers(listed(), ArrayStacked.of), arrays, stacked=True)
        assert eqx.tree_equal(loaded, with_layers(listed(seed=1), ArrayStacked.of))

    def test_moments_of_an_optimiser_beside_them(self, tool: Tool) -> None:
        names = [
            f"{at}.{layer}.w" for at in ("model.layers", "opt.0.mu.layers", "opt.0.nu.layers") for layer in range(3)
        ]
        np.savez(tool.folder / "old.npz", **{name: np.full(2, at) for at, name in enumerate(names)}, count=np.array(7))
        assert tool("convert", "old.npz", "new.npz", "--stack", "*layers", "--axis", "0").code == 0
        with np.load(tool.folder / "new.npz") as file:
            assert set(file) == {"model.layers.w", "opt.0.mu.layers.w", "opt.0.nu.layers.w", "count"}
            assert file["opt.0.mu.layers.w"][:, 0].tolist() == [3, 4, 5]

    def test_a_compressed_archive_stays_one(self, tool: Tool) -> None:
        arrays = {f"l.{at}.w": np.full(5000, at) for at in range(3)}
        np.savez_compressed(tool.folder / "old.npz", **arrays)
        assert tool("convert", "old.npz", "new.npz", "--stack", "l", "--axis", "0").code == 0
        assert (tool.folder / "new.npz").stat().st_size < 5000
        with np.load(tool.folder / "new.npz") as file:
            assert np.array_equal(file["l.w"], np.stack(list(arrays.values())))

    def test_an_array_in_fortran_order(self, tool: Tool) -> None:
        array = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
        np.savez(tool.folder / "old.npz", **{"l.w": array, "m.0": array, "m.1": array})
        assert tool("convert", "old.npz", "new.npz", "--unstack", "l", "--stack", "m", "--axis", "0").code == 0
        with np.load(tool.folder / "new.npz") as file:
            assert np.array_equal(np.stack([file["l.0.w"], file["l.1.w"]]), array)
            assert np.array_equal(file["m"], np.stack([array, array]))

    def test_python_objects_are_refused(self, tool: Tool) -> None:
        np.savez(tool.folder / "old.npz", **{"l.0.w": np.array([{}]), "l.1.w": np.array([{}])})
        done = tool("convert", "old.npz", "new.npz", "--stack", "l")
        assert (done.code, "'l.0.w' holds Python objects" in done.err) == (2, True)

    def test_a_part_that_is_missing(self, tool: Tool) -> None:
        save(tool.folder / "old.npz", {"l.0.w": np.ones(2), "l.0.b": np.ones(2), "l.1.w": np.ones(2)})
        done = tool("convert", "old.npz", "new.npz", "--stack", "l")
        assert done.code == 2
        assert (
            "old.npz: expected each of the 2 layers under 'l' to have the same arrays; 1 are missing: 'l.1.b'"
            in done.err
        )
        assert tool.files().keys() == {"old.npz"}


BUFFERS = """
import equinox as eqx
import jax.numpy as jnp
import numpy as np

from scanify.nn import ArrayStacked


class Layer(eqx.Module):
    w: object
    mean: object

    def __init__(self, i):
        self.w, self.mean = jnp.full(2, i), np.full(3, i / 3)


def like():
    layers = [Layer(i) for i in range(3)]
    return WHOLE, np.float64(0.1) * np.ones(1)
"""


class TestFilesInOrder:
    @pytest.mark.parametrize("like", [("like.py:like",), ("like.py:case", "--model", "model.py")])
    def test_both_ways(self, tool: Tool, like: tuple[str, ...]) -> None:
        tool.write("like.py", LIKE)
        tool.write("model.py", BUILD)
        eqx.tree_serialise_leaves(tool.folder / "old.eqx", listed(seed=1))
        done = tool("convert", "old.eqx", "new.eqx", "--like", *like)
        assert (done.code, "28 arrays became 13" in done.err) == (0, True), done.err
        like_now = with_layers(listed(), ArrayStacked.of)
        loaded = eqx.tree_deserialise_leaves(tool.folder / "new.eqx", like_now)
        assert eqx.tree_equal(loaded, with_layers(listed(seed=1), ArrayStacked.of))
        assert tool("convert", "new.eqx", "back.eqx", "--to", "list", "--like", *like).code == 0
        assert (tool.folder / "back.eqx").read_bytes() == (tool.folder / "old.eqx").read_bytes()

    def test_numpy_buffers_keep_dtypes_that_jax_does_not_have(self, tool: Tool) -> None:
        text = BUFFERS.replace("WHOLE", "ArrayStacked.of(layers)")
        tool.write("like.py", text)
        space: dict[str, Any] = {}
        exec(text.replace("ArrayStacked.of(layers)", "layers"), space)
        eqx.tree_serialise_leaves(tool.folder / "old.eqx", space["like"]())
        done = tool("convert", "old.eqx", "new.eqx", "--like", "like.py:like")
        assert (done.code, "7 arrays became 3" in done.err) == (0, True), done.err
        assert tool("convert", "new.eqx", "back.eqx", "--to", "list", "--like", "like.py:like").code == 0
        assert (tool.folder / "back.eqx").read_bytes() == (tool.folder / "old.eqx").read_bytes()

    @pytest.mark.parametrize(
        ("like", "message"),
        [
            ("like.py:case", "takes a module, as a case does: name the file of the model with --model FILE"),
            ("like.py:needs_weights", "could not be run without weights"),
            ("like.py:two", "expected a function without arguments, or a case; it is two(a, b)"),
            ("like.py:missing", "like.py has no function 'missing'; it has like, case, needs_weights, two"),
            ("gone.py:like", "does not exist"),
        ],
    )
    def test_functions_that_give_no_tree(self, tool: Tool, like: str, message: str) -> None:
        tool.write("like.py", LIKE)
        eqx.tree_serialise_leaves(tool.folder / "old.eqx", listed())
        done = tool("convert", "old.eqx", "new.eqx", "--like", like)
        assert (done.code, message in done.err) == (2, True), done.err


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("old.npz", "new.npz"), "got neither"),
            (("old.npz", "new.npz", "--stack", "l", "--like", "a.py:b"), "got both"),
            (("old.npz", "new.npz", "--stack", "l", "--to", "list"), "--to goes with --like"),
            (("gone.npz", "new.npz", "--stack", "l"), "expected a checkpoint, got gone.npz, which does not exist"),
            (("old.npz", "old.npz", "--stack", "l"), "expected the new file to be another than the old one"),
            (("old.npz", "there.npz", "--stack", "l"), "there.npz exists; give --force to overwrite it"),
            (("old.npz", "none/new.npz", "--stack", "l"), "expected the new file in a folder that exists"),
            (("old.npz", "new.npz", "--like", "like.py:like"), "say more than an order"),
            (("old.eqx", "new.eqx", "--stack", "layers"), "saves no names"),
            (("text", "new.eqx", "--stack", "layers"), "is neither a safetensors file"),
            (("bad.safetensors", "new.eqx", "--stack", "layers"), "is no safetensors file"),
            (("bad.npz", "new.eqx", "--stack", "layers"), "is no NumPy archive"),
        ],
    )
    def test_mistakes_are_told(self, tool: Tool, arguments: tuple[str, ...], message: str) -> None:
        tool.write("like.py", LIKE)
        for name in ("text", "bad.npz", "bad.safetensors"):
            tool.write(name, "no checkpoint at all")
        for name in ("old.npz", "there.npz"):
            np.savez(tool.folder / name, **{"l.0": np.ones(2), "l.1": np.ones(2)})
        eqx.tree_serialise_leaves(tool.folder / "old.eqx", listed())
        before = tool.files()
        done = tool("convert", *arguments)
        assert (done.code, message in done.err) == (2, True), done.err
        assert tool.files() == before

    def test_the_format_is_seen_where_the_name_does_not_say_it(self, tool: Tool) -> None:
        with (tool.folder / "old").open("wb") as file:
            np.savez(file, **{"l.0": np.ones(2), "l.1": np.ones(2)})
        tool.write("new", "")
        assert tool("convert", "old", "new", "--stack", "l", "--axis", "0", "--force").code == 0
        with np.load(tool.folder / "new") as file:
            assert np.array_equal(file["l"], np.ones((2, 2)))


def test_a_key_is_seen_before_anything_is_read(tool: Tool) -> None:
    text = LIKE.replace("(), ArrayStacked.of)\n", "(), ArrayStacked.of), __import__('jax').random.key(0)\n", 1)
    tool.write("like.py", text)
    eqx.tree_serialise_leaves(tool.folder / "old.eqx", (listed(), jax.random.key_data(jax.random.key(0))))
    done = tool("convert", "old.eqx", "new.eqx", "--like", "like.py:like")
    assert (done.code, "saves no PRNG key arrays" in done.err) == (2, True)
