"""Checkpoints that cannot be converted."""

import json
import struct

from tests.bad_inputs.bad_input import BadInput


def tensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    """A safetensors file with this header, which says that it is `length` bytes long."""
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape: object, offsets: object, dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


GOOD = {f"layers.{at}.w": entry([2], [8 * at, 8 * at + 8]) for at in range(3)}


def checkpoint(what: str, data: bytes, says: str, name: str = "old.safetensors", code: int = 2) -> BadInput:
    run = f"scanify convert {name} new.safetensors --stack layers"
    return BadInput(what, run, code, says, {name: data})


CHECKPOINTS = [
    BadInput("a checkpoint that is not there", "scanify convert old.npz new.npz --stack layers", 2, "old.npz"),
    BadInput(
        "a checkpoint that is a folder",
        "scanify convert old.npz n.npz --stack layers",
        2,
        "old.npz",
        before="mkdir old.npz",
    ),
    BadInput("a checkpoint that is Python", "scanify convert model.py new.npz --stack layers", 2, "model.py"),
    checkpoint("a NumPy archive that is text", b"hello\n", "old.npz", "old.npz"),
    checkpoint("an empty NumPy archive", b"", "old.npz", "old.npz"),
    checkpoint("an empty checkpoint", b"", "old.safetensors"),
    checkpoint("a checkpoint that is cut off", tensors(GOOD, bytes(20)), "old.safetensors"),
    checkpoint("a header that is longer than the file", tensors(GOOD, bytes(24), 10**15), "old.safetensors"),
    checkpoint("a header that is no JSON", tensors(b"{nope"), "old.safetensors"),
    checkpoint("a header that is a list", tensors([1, 2]), "old.safetensors"),
    checkpoint("a header nested a thousand deep", tensors(b"[" * 200_000), "old.safetensors"),
    checkpoint("an array of a negative length", tensors({"layers.0.w": entry([-2], [0, 8])}, bytes(8)), "layers.0.w"),
    checkpoint("an array beyond the file", tensors({"layers.0.w": entry([2], [80, 88])}, bytes(8)), "layers.0.w|old"),
    checkpoint(
        "an array that ends before it begins", tensors({"layers.0.w": entry([2], [8, 0])}, bytes(8)), "layers.0.w|old"
    ),
    checkpoint("a shape that is a word", tensors({"layers.0.w": entry("two", [0, 8])}, bytes(8)), "layers.0.w|old"),
    checkpoint("a dtype that there is none of", tensors({"layers.0.w": entry([2], [0, 8], "F7")}, bytes(8)), "F7"),
    checkpoint("an array without an entry", tensors({"layers.0.w": 3}), "layers.0.w|old"),
    checkpoint("no such layers", tensors({"other": entry([2], [0, 8])}, bytes(8)), "layers"),
    checkpoint(
        "layers of two shapes",
        tensors({"layers.0.w": entry([2], [0, 8]), "layers.1.w": entry([1], [8, 12])}, bytes(12)),
        "layers",
    ),
    checkpoint(
        "a layer that is missing",
        tensors({"layers.0.w": entry([1], [0, 4]), "layers.2.w": entry([1], [4, 8])}, bytes(8)),
        "layers",
    ),
    BadInput(
        "a checkpoint onto itself",
        "scanify convert old.safetensors old.safetensors --stack layers",
        2,
        "old.safetensors",
        {"old.safetensors": tensors(GOOD, bytes(24))},
    ),
    BadInput(
        "a checkpoint onto a full disk",
        "ulimit -f 0; scanify convert old.safetensors new.safetensors --stack layers --axis 0",
        2,
        "new.safetensors",
        {"old.safetensors": tensors(GOOD, bytes(24))},
    ),
]
