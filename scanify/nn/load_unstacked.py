"""Load old checkpoints, of lists of layers, into models that have stacks in their place."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar, overload

import equinox as eqx
import jax

from scanify.checkpoints import stack_leaves
from scanify.checkpoints.formats.equinox import EquinoxFile
from scanify.checkpoints.formats.open_file import EQUINOX, format_of, open_file
from scanify.errors import ScanifyError
from scanify.nn.list_form import outline
from scanify.nn.members_first import with_known_axes
from scanify.nn.state_dict import filled_like, from_state_dict, to_state_dict
from scanify.nn.trees.leaves import has_aval, is_number

T = TypeVar("T")


@overload
def load_unstacked(path_or_file: str | Path | IO[bytes], like: Callable[[], T], prefix: str = "") -> T: ...


@overload
def load_unstacked(path_or_file: str | Path | IO[bytes], like: T, prefix: str = "") -> T: ...


def load_unstacked(path_or_file: str | Path | IO[bytes], like: Any, prefix: str = "") -> Any:
    """Return `like` filled from a file that was saved with a list of layers in place of each stack.

        model = scanify.nn.load_unstacked("old.eqx", eqx.filter_eval_shape(GPT, config, key=key))

    **Arguments:**

    - `path_or_file`: a file of `equinox.tree_serialise_leaves`, a safetensors file or a NumPy archive with the names
        of `to_state_dict(old_model)`. An open binary file holds Equinox's leaves from its current position.
    - `like`: the tree to fill: the rewritten model, or any pytree that holds it, such as `(model, optimiser_state)`;
        with arrays or `jax.ShapeDtypeStruct`s. Arrays get the sharding of those they replace. A function without
        arguments that returns it is run without weights (`eqx.filter_eval_shape`), and shows along which axes the
        layers lie in an ensemble with as many members as layers; a tree does only if it is marked
        (`scanify.nn.members_first`).
    - `prefix`: for files with names, the prefix of the names of `like`.

    Equinox's leaves are read one after another: only the loaded leaves and the largest of them are in memory. For files
    with names, all arrays are read before they are stacked.

    **Raises** ValueError if the file has other leaves than the list form of `like`, naming those that are missing or
    have another shape or dtype, and if an axis of layers is unknown; nothing is cast. `scanify convert` makes a new
    file from an old one.
    """
    tree = _built(like)
    try:
        if isinstance(path_or_file, str | Path):
            return _from_path(Path(path_or_file), tree, prefix)
        return _from_file(path_or_file, tree)
    except ScanifyError as error:
        raise ValueError(str(error)) from None


def _built(like: Any) -> Any:
    """Return the given tree, or the one that a function builds. A model can be callable, too, but it is not a leaf."""
    if not callable(like) or not jax.tree_util.all_leaves([like]):
        return like

    def outlines() -> Any:
        return eqx.filter_eval_shape(like)

    return with_known_axes(outlines(), outlines)


def _from_path(path: Path, like: T, prefix: str) -> T:
    if not path.suffix and not path.exists():
        path = path.with_suffix(".eqx")  # as Equinox does
    if format_of(path) == EQUINOX:
        with path.open("rb") as file:
            return _from_file(file, like)
    with open_file(path) as opened:
        return from_state_dict(like, _NamedArrays(opened, like, prefix), prefix)


def _from_file(file: IO[bytes], like: T) -> T:
    opened = EquinoxFile(file, getattr(file, "name", "the file"))
    done = stack_leaves(opened.arrays, like)
    opened.demand_equal(done.equal)
    waiting = iter(done.arrays)

    def fill(leaf: Any) -> Any:
        if not has_aval(leaf) and not is_number(leaf):
            return leaf
        array = next(waiting)
        if has_aval(leaf):
            return filled_like(leaf, opened.read(array, leaf.dtype))
        return type(leaf)(opened.read(array, None).item())

    filled: T = jax.tree.map(fill, like)
    return filled


class _NamedArrays(Mapping[str, Any]):
    """The arrays of a file by name, each read on access."""

    def __init__(self, opened: Any, like: Any, prefix: str) -> None:
        self._expected = to_state_dict(jax.tree.map(outline, like), prefix)
        self._opened = opened
        self._arrays = {array.name: array for array in opened.arrays}

    def __getitem__(self, name: str) -> Any:
        expected = self._expected.get(name)
        return self._opened.read(self._arrays[name], None if expected is None else expected.dtype)

    def __iter__(self) -> Any:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)
