"""Import roots of a project: the folder that a file is imported from, and its dotted name there."""

import sys
from collections.abc import Callable
from pathlib import Path

# Names that mean the library, even if a folder has that name, unless a project of this name keeps its source in that
# folder.
LIBRARIES = sys.stdlib_module_names | frozenset(
    "beartype chex diffrax distrax einops equinox flax haiku haliax jax jaxlib jaxtyping keras lineax matplotlib numpy "
    "optax optimistix orbax pandas pytest quax safetensors scipy sklearn tensorflow torch tqdm transformers".split()
)
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg")


def locate(path: Path, root: Path, is_file: Callable[[Path], bool]) -> tuple[Path, str]:
    """Return the folder that a file is imported from, and its dotted name there.

    The folder is the first one upwards without an `__init__.py`. A file in a folder without one is named from the
    project's root, or from the nearest `src` above it.
    """
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    if is_file(folder / "__init__.py"):
        while is_file(folder / "__init__.py") and folder.name:
            parts.insert(0, folder.name)
            folder = folder.parent
        return folder, ".".join(parts)
    while folder != root and root in folder.parents and folder.name != "src" and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def keeps_source(folder: Path, root: Path, is_file: Callable[[Path], bool]) -> bool:
    """True if the packages in `folder` are installed by a project: its root, a `src`, or the root of a nested project.

    A root that is itself a package installs none: its folder `equinox` is `package.equinox`.
    """
    if folder == root:
        return not is_file(folder / "__init__.py")
    return folder.name == "src" or any((folder / mark).is_file() for mark in _MARKS)
