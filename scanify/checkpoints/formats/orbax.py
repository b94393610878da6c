"""Folders of orbax (`StandardCheckpointer`, `PyTreeCheckpointer`): trees of arrays, read and written one by one.

The name of an array is its path of keys joined by dots, as in orbax. New arrays are first written to temporary files
and passed to orbax as `numpy.memmap`, so that they need not fit into memory together.
"""

import importlib.util
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scanify.checkpoints.formats.opened import CHUNK, Opened, whole
from scanify.checkpoints.saved_array import EMPTY, SavedArray, Stretch
from scanify.errors import ScanifyError

METADATA = "_METADATA"
_SEQUENCE = 1  # orbax's `KeyType`
_NUMBERS = {"int": int, "float": float}


def is_orbax(path: Path) -> bool:
    return (path / METADATA).is_file()


class OrbaxFolder(Opened):
    """A folder of orbax, open for reading.

    `about` holds the nodes that are sequences, and the types of leaves that are Python numbers.
    """

    in_turn = True

    def __init__(self, path: Path) -> None:
        if importlib.util.find_spec("orbax") is None or importlib.util.find_spec("orbax.checkpoint") is None:
            raise ScanifyError(
                f"{path} is a folder of orbax, and orbax.checkpoint is not found by {sys.executable}. Install it with: "
                "pip install orbax-checkpoint"
            )
        import jax
        import orbax.checkpoint as ocp

        self._path = path.absolute()
        self._checkpointer = ocp.Checkpointer(ocp.PyTreeCheckpointHandler())
        told = json.loads((path / METADATA).read_text(encoding="utf-8"))["tree_metadata"].values()
        self._keys: dict[str, list[dict[str, Any]]] = {}
        types: dict[str, str] = {}
        for each in told:
            keys = each["key_metadata"]
            name = ".".join(str(key["key"]) for key in keys)
            if any("." in str(key["key"]) for key in keys) or name in self._keys:
                raise ScanifyError(f"{path}: {name!r} has a key with a dot in it, so it cannot be told from others")
            self._keys[name], types[name] = keys, each["value_metadata"]["value_type"]
        self._refuse_keys(path)
        tree = ocp.PyTreeCheckpointHandler().metadata(self._path)
        self._tree = getattr(tree, "tree", tree)
        leaves = [leaf for leaf in jax.tree.leaves(self._tree) if hasattr(leaf, "name")]
        found: list[SavedArray] = []
        for leaf in leaves:
            if leaf.name not in self._keys or not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
                raise ScanifyError(f"{path}: {leaf.name!r} is no array ({types.get(leaf.name, 'unknown')})")
            dtype, shape = np.dtype(leaf.dtype), tuple(leaf.shape or ())
            nbytes = int(np.prod(shape, dtype=int)) * dtype.itemsize
            found.append(whole(leaf.name, dtype.name, shape, nbytes, len(found)))
        self.arrays: Sequence[SavedArray] = found
        for name in sorted(set(self._keys) - {array.name for array in found}):
            if types[name] != "None":
                raise ScanifyError(f"{path}: what is under {name!r} is not understood: {types[name]}")
            found.append(whole(name, EMPTY, (), 0, len(found)))
        sequences = {
            tuple(str(key["key"]) for key in keys[:at])
            for keys in self._keys.values()
            for at, key in enumerate(keys)
            if key["key_type"] == _SEQUENCE
        }
        self.about: Any = (sequences, {name: _NUMBERS[t] for name, t in types.items() if t in _NUMBERS})
        self._last: tuple[int, bytes] | None = None

    def _refuse_keys(self, path: Path) -> None:
        for file in (path / "array_metadatas").glob("process_*"):
            for each in json.loads(file.read_text(encoding="utf-8"))["array_metadatas"]:
                told = each["array_metadata"]
                if (told.get("ext_metadata") or {}).get("random_key_impl"):
                    raise ScanifyError(
                        f"{path}: {told['param_name']!r} is a PRNG key array, which orbax keeps in a form of its own; "
                        "save `jax.random.key_data(key)` in its place"
                    )

    def bytes_of(self, stretch: Stretch) -> Iterator[bytes]:
        if self._last is None or self._last[0] != stretch.source:
            self._last = None  # frees the memory before the next array is read
            self._last = stretch.source, self._restored(self.arrays[stretch.source].name)
        data = memoryview(self._last[1])[stretch.start : stretch.start + stretch.size]
        return (bytes(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK))

    def _restored(self, name: str) -> bytes:
        import jax
        import orbax.checkpoint as ocp

        def only(value: Any) -> Any:
            return jax.tree.map(
                lambda leaf: value if getattr(leaf, "name", None) == name else ocp.PLACEHOLDER, self._tree
            )

        arguments = ocp.args.PyTreeRestore(item=only(0), restore_args=only(ocp.RestoreArgs(restore_type=np.ndarray)))
        found = jax.tree.leaves(self._checkpointer.restore(self._path, args=arguments))
        (value,) = [leaf for leaf in found if leaf is not ocp.PLACEHOLDER]
        return np.ascontiguousarray(value).tobytes()

    def numpy_dtype(self, dtype: Any) -> "np.dtype[Any]":
        import jax.numpy as jnp

        found: np.dtype[Any] = np.dtype(jnp.dtype(dtype))
        return found

    def close(self) -> None:
        self._checkpointer.close()


def write_orbax(folder: Path, opened: Any, arrays: Sequence[SavedArray], about: Any) -> None:
    """Write the arrays, with bytes from `opened`, as a folder of orbax."""
    import orbax.checkpoint as ocp

    sequences, numbers = about
    tree: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix=".scanify.", dir=folder.parent) as space:
        for at, array in enumerate(arrays):
            value: Any = None if array.dtype == EMPTY else _laid_down(Path(space, str(at)), opened, array)
            if array.name in numbers:
                value = numbers[array.name](value[()])
            _put(tree, array.name.split("."), value)
        old = [array.name.split(".") for array in opened.arrays]
        nodes = {tuple(keys[: end + 1]) for keys in old for end in range(len(keys))}
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
            checkpointer.save(folder.absolute(), args=ocp.args.PyTreeSave(_listed(tree, (), sequences, nodes)))


def _laid_down(path: Path, opened: Any, array: SavedArray) -> Any:
    if not array.nbytes:
        return np.empty(array.shape, opened.numpy_dtype(array.dtype))
    with path.open("wb") as file:
        for data in opened.bytes_in(array):
            file.write(data)
    return np.memmap(path, opened.numpy_dtype(array.dtype), "r", shape=array.shape)


def _put(tree: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
    tree[keys[-1]] = value


def _listed(node: Any, path: tuple[str, ...], sequences: set[tuple[str, ...]], nodes: set[tuple[str, ...]]) -> Any:
    """Replace dicts by lists where the old tree had sequences, or where new nodes are numbered layers."""
    if not isinstance(node, dict):
        return node
    inner = {key: _listed(value, (*path, key), sequences, nodes) for key, value in node.items()}
    numbered = set(inner) == set(map(str, range(len(inner))))
    if numbered and (path in sequences or (*path, "0") not in nodes):
        return [inner[str(at)] for at in range(len(inner))]
    return inner
