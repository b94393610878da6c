"""Files of `flax.serialization.to_bytes`: a loop's modules become those of a scan and back, to the last byte."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scanify.checkpoints.formats import msgpack
from tests.command import Tool

# What flax 0.12.12 writes for two layers and a head, with the layers named by number and stacked.
LOOP = (
    b"\x82\xa6params\x83\xa7layer_0\x81\xa1w\xc7\x0c\x01\x93\x91\x02\xa4int8\xc4\x02\x01\x02\xa7layer_1\x81\xa1w\xc7\x0c"
    b"\x01\x93\x91\x02\xa4int8\xc4\x02\x03\x04\xa4head\xc7\r\x01\x93\x90\xa6uint16\xc4\x02\x07\x00\xa4step\x05"
)
SCAN = (
    b"\x82\xa6params\x82\xa6layers\x81\xa1w\xc7\x0f\x01\x93\x92\x02\x02\xa4int8\xc4\x04\x01\x02\x03\x04\xa4head\xc7\r"
    b"\x01\x93\x90\xa6uint16\xc4\x02\x07\x00\xa4step\x05"
)
STACK = ("--stack", "*layer_{}=*layers", "--axis", "0")
UNSTACK = ("--unstack", "*layers=*layer_{}", "--axis", "0")


def converted(tool: Tool, data: bytes, *arguments: str, name: str = "old.msgpack") -> bytes:
    (tool.folder / name).write_bytes(data)
    done = tool("convert", name, "new.msgpack", *arguments, "--force")
    assert done.code == 0, done.err
    return (tool.folder / "new.msgpack").read_bytes()


def refused(tool: Tool, data: bytes, *arguments: str) -> str:
    (tool.folder / "old.msgpack").write_bytes(data)
    done = tool("convert", "old.msgpack", "new.msgpack", *arguments)
    assert done.code == 2 and not (tool.folder / "new.msgpack").exists()
    return done.err


def test_both_ways(tool: Tool) -> None:
    assert converted(tool, LOOP, *STACK) == SCAN
    assert converted(tool, SCAN, *UNSTACK) == LOOP


def test_the_format_is_seen_where_the_name_does_not_say_it(tool: Tool) -> None:
    assert converted(tool, LOOP, *STACK, name="checkpoint_7") == SCAN


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (LOOP[:-1], "incomplete input"),
        (LOOP + b"\x00", "extra data"),
        (LOOP.replace(b"int8", b"int7", 1), "the dtype 'int7' is not known"),
        (LOOP.replace(b"\x91\x02\xa4int8", b"\x91\x03\xa4int8", 1), "array int8[3] has 2 bytes"),
        (LOOP.replace(b"layer_1", b"layer_0"), "the key 'layer_0' stands in a map twice"),
        (LOOP.replace(b"\xa1w", b"\xa1."), "has a key with a dot in it"),
        (b"\x93\x01\x02\x03", "expected a map of names at the top"),
        (b"\x81\xc1\x00", "FormatError"),
        (b"\x81\x01\x00", "is not allowed for map key"),
    ],
)
def test_files_that_are_damaged_are_refused(tool: Tool, data: bytes, said: str) -> None:
    err = refused(tool, data, *STACK)
    assert said in err


def test_what_is_no_array_is_not_stacked(tool: Tool) -> None:
    loop = LOOP.replace(b"\xa7layer_0\x81", b"\xa7layer_0\x82\xa4kind\xa1a")
    assert "'params.layer_0.kind' is no array and stands among those of a layer" in refused(tool, loop, *STACK)


class TestWithFlax:
    """Against Flax itself, on trees of every kind of value."""

    @pytest.fixture
    def serialization(self) -> Any:
        return pytest.importorskip("flax.serialization", reason="flax is not installed")

    def trees(self) -> tuple[Any, Any]:
        import jax.numpy as jnp

        rows: list[Any] = [
            {"dense": {"kernel": np.full((2, 3), at, np.float32), "bias": jnp.arange(3, dtype=jnp.bfloat16) + at}}
            for at in range(12)
        ]
        stacked = {"dense": {key: np.stack([row["dense"][key] for row in rows]) for key in ("kernel", "bias")}}
        others = {
            "name": "x" * 40,
            "none": None,
            "empty": {},
            "list": [1, -2],
            "complex": 1j,
            "float": 0.5,
            "true": True,
        }
        big = {"w": np.zeros((2, 300), np.float16)}
        named = {f"layer_{at}": row for at, row in enumerate(rows)}
        return (
            {"params": {"first": big, **named, "head": big}, "mu": dict(named), "step": 7, **others},
            {"params": {"first": big, "layers": stacked, "head": big}, "mu": {"layers": stacked}, "step": 7, **others},
        )

    def test_it_is_what_flax_writes(self, tool: Tool, serialization: Any) -> None:
        loop, scan = map(serialization.to_bytes, self.trees())
        assert converted(tool, loop, *STACK) == scan
        assert converted(tool, scan, *UNSTACK) == loop

    def test_nested_stacks(self, tool: Tool, serialization: Any) -> None:
        loop, scan = self.trees()
        for part in (scan["params"], scan["mu"]):
            part["layers"] = {
                "dense": {key: each.reshape(4, 3, *each.shape[1:]) for key, each in part["layers"]["dense"].items()}
            }
        loop, scan = map(serialization.to_bytes, (loop, scan))
        assert converted(tool, loop, *STACK, "--nested") == scan
        assert converted(tool, scan, *UNSTACK, "--nested") == loop

    def test_arrays_in_pieces(self, tool: Tool, serialization: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(serialization, "MAX_CHUNK_SIZE", 20)
        monkeypatch.setattr(msgpack, "LARGEST", 20)
        loop, scan = map(serialization.to_bytes, self.trees())
        assert converted(tool, loop, *STACK) == scan
        assert converted(tool, scan, *UNSTACK) == loop

    @pytest.mark.whole
    def test_a_model_runs_on_it(self, tool: Tool, serialization: Any, tmp_path: Path) -> None:
        """The variables of a loop, converted, are those of its scan: outputs and structure are the same."""
        import jax
        import jax.numpy as jnp

        from tests.verify.linen_models import LOOP as LOOP_MODEL
        from tests.verify.linen_models import SCAN as SCAN_MODEL

        made = []
        for text in (LOOP_MODEL, SCAN_MODEL):
            names: dict[str, Any] = {"__name__": "linen_model"}
            exec(compile(text, "linen_model.py", "exec"), names)
            made.append(names["Model"]())
        x = jnp.linspace(-1, 1, 16).reshape(2, 8)
        variables, like = (model.init(jax.random.key(at), x, False) for at, model in enumerate(made))
        found = converted(tool, serialization.to_bytes(variables), *STACK)
        restored = serialization.from_bytes(like, found)
        assert jax.tree.structure(restored) == jax.tree.structure(like)
        np.testing.assert_allclose(made[0].apply(variables, x, False), made[1].apply(restored, x, False), rtol=2e-5)
