"""Data files that are other ones for the original: its code comes from a revision, and they from the working tree."""

import os
from collections.abc import Sequence
from pathlib import Path

from scanify.verify.cache.consulted import Consulted

# What libraries open by themselves, so that nobody sees it.
_UNSEEN = frozenset(
    ".safetensors .h5 .hdf5 .ckpt .msgpack .onnx .arrow .parquet .db .sqlite .zarr .tfrecord .bin .eqx .pt .so".split()
)


def looked_at(data: Sequence[Path], consulted: Consulted) -> Path | None:
    """The first of these files that code has looked at, or may have without being seen."""
    asked = {os.path.realpath(path) for path, _ in (*consulted.files, *consulted.asked)}
    listed = {os.path.realpath(path) for path, _ in consulted.listed}
    for path in data:
        real = Path(os.path.realpath(path))
        if str(real) in asked or str(real.parent) in listed or path.suffix in _UNSEEN or consulted.unfollowed:
            return path
    return None
