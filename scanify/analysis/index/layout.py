"""Where the dotted names of a project start: which folder a file is imported from, and under which name."""

import sys
from collections.abc import Callable
from pathlib import Path

# Names that mean the library and not a folder that happens to be called so, unless that folder is where a project of
# this name keeps its source.
LIBRARIES = sys.stdlib_module_names | frozenset(
    "beartype chex diffrax distrax einops equinox flax haiku haliax jax jaxlib jaxtyping keras lineax matplotlib numpy "
    "optax optimistix orbax pandas pytest quax safetensors scipy sklearn tensorflow torch tqdm transformers".split()
)
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg")


def locate(path: Path, root: Path, is_file: Callable[[Path], bool]) -> tuple[Path, str]:
    """The folder that a file is imported from, and its dotted name there.

    Upwards while there is an `__init__.py`. A file in a folder without one is named from the project's root, or from
    the nearest `src` above it.
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
    """Whether the packages in `folder` are what a project there installs: its root, a `src`, or a project inside.

    A root that is a package itself installs none: its folder `equinox` is `package.equinox`.
    """
    if folder == root:
        return not is_file(folder / "__init__.py")
    return folder.name == "src" or any((folder / mark).is_file() for mark in _MARKS)
