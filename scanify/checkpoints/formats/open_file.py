"""Detect the format of a file by its suffix, or by its first bytes if the suffix is unknown."""

from pathlib import Path
from typing import Any

from scanify.checkpoints.formats.equinox import EquinoxFile, write_equinox
from scanify.checkpoints.formats.msgpack import MsgpackFile, is_msgpack, write_msgpack
from scanify.checkpoints.formats.npy import MAGIC
from scanify.checkpoints.formats.npz import NpzFile, write_npz
from scanify.checkpoints.formats.orbax import METADATA, OrbaxFolder, is_orbax, write_orbax
from scanify.checkpoints.formats.safetensors import SafetensorsFile, write_safetensors
from scanify.errors import ScanifyError

EQUINOX, FLAX, NPZ, ORBAX, SAFETENSORS = "Equinox", "flax", "npz", "orbax", "safetensors"
_SUFFIXES = {".safetensors": SAFETENSORS, ".npz": NPZ, ".eqx": EQUINOX, ".msgpack": FLAX}
OPEN: dict[str, Any] = {
    EQUINOX: EquinoxFile.of,
    FLAX: MsgpackFile,
    NPZ: NpzFile,
    ORBAX: OrbaxFolder,
    SAFETENSORS: SafetensorsFile,
}
WRITE: dict[str, Any] = {
    EQUINOX: write_equinox,
    FLAX: write_msgpack,
    NPZ: write_npz,
    ORBAX: write_orbax,
    SAFETENSORS: write_safetensors,
}
_LOOKED_AT = 1 << 16


def format_of(path: Path) -> str:
    """Return the format of a file. Raises ScanifyError if it does not exist or its format is unknown."""
    if is_orbax(path):
        return ORBAX
    if not path.is_file():
        raise ScanifyError(f"expected a checkpoint, got {path}, which {_what_it_is(path)}")
    named = _SUFFIXES.get(path.suffix.lower())
    if named is not None:
        return named
    with path.open("rb") as file:
        begin = file.read(_LOOKED_AT)
    if begin.startswith(b"PK\x03\x04"):
        return NPZ
    if begin[8:9] == b"{" and int.from_bytes(begin[:8], "little") < path.stat().st_size:
        return SAFETENSORS
    if MAGIC in begin:
        return EQUINOX
    if is_msgpack(begin):
        return FLAX
    raise ScanifyError(
        f"{path}: is neither a safetensors file (.safetensors), nor a NumPy archive (.npz), nor a file of "
        "`equinox.tree_serialise_leaves` (.eqx) or `flax.serialization.to_bytes` (.msgpack)"
    )


def open_file(path: Path) -> Any:
    """Open a checkpoint for reading."""
    return OPEN[format_of(path)](path)


def _what_it_is(path: Path) -> str:
    return f"is a folder without the {METADATA} of orbax" if path.is_dir() else "does not exist"
