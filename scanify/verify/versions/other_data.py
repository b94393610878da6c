"""Data files that differ in the original: no code may read them if both versions are in one tree.

If the original has its own tree, it may read files there; neither version may use files in the other's tree.
"""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from scanify.verify.cache.consulted import Consulted
from scanify.verify.request import Request
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.overlay import Overlay
from scanify.verify.versions.project import below

# Formats that libraries open themselves, unseen.
_UNSEEN = frozenset(
    ".safetensors .h5 .hdf5 .ckpt .msgpack .onnx .arrow .parquet .db .sqlite .zarr .tfrecord .bin .eqx .pt .so".split()
)


def across_trees(
    request: Request, overlay: Overlay, looked_by: Collection[tuple[str, str]], consulted: Consulted
) -> str | None:
    """Describe what a version has used, or may have used, of the other's tree; None if there is nothing."""
    other = looked_at(request.data, looked_by, consulted, one_tree=request.tree is None)
    if other is not None:
        what = f"{os.path.relpath(other, request.directory)} is another file for the original, and the code looks at it"
        if request.tree is None:
            return f"{what}, or may do so without being seen"
        return (
            f"{os.path.relpath(other, request.directory)} is another file in the revision, and the original looks at "
            "the one of the working tree, or may do so without being seen. It runs in a copy of the revision, where it "
            "finds files by paths that are relative to a source file, or, while the model is built, to the directory"
        )
    for version, whose in ((overlay.original, "working tree"), (overlay.rewritten, "revision")):
        file = _from_other_tree(request, version)
        if file is not None:
            return (
                f"the {version.name} version imports {Path(file).name} of the {whose}, so that the two would have the "
                "same; the module must be found next to the model, in both"
            )
    return None


def looked_at(
    data: Sequence[Path], looked_by: Collection[tuple[str, str]], consulted: Consulted, *, one_tree: bool = False
) -> Path | None:
    """Return the first of these files that the original read in the rewritten version's form, or may have read unseen.

    `looked_by` says which version has read which of them, or one of the folders around them. With one tree for both
    versions, either counts.
    """
    seen = {path for version, path in looked_by if one_tree or version != "rewritten"}
    for path in data:
        real = Path(os.path.realpath(path))
        if {str(real), str(real.parent)} & seen or path.suffix in _UNSEEN or consulted.unfollowed:
            return path
    return None


def _from_other_tree(request: Request, version: Version) -> str | None:
    """Return a file that a version has imported from the other's tree; None if there is no such file."""
    if request.tree is None:
        return None
    own, other = request.tree.copy, request.tree.here
    if version.name == "rewritten":
        own, other = other, own
    case = os.path.realpath(request.case.path)
    inside = (path for path in version.read if below(path, str(other)) and not below(path, str(own)))
    return next((path for path in inside if os.path.realpath(path) != case), None)
