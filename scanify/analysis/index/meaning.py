"""What a name of the project stands for."""

import ast
from dataclasses import dataclass
from pathlib import Path

from scanify.analysis.index.module import Module


@dataclass(frozen=True)
class Definition:
    """A name that one statement at the top level of a module binds: a class, a function, an assignment, ..."""

    module: Module
    name: str
    node: ast.stmt


@dataclass(frozen=True)
class External:
    """Something that is not code of the project, by its qualified name: `jax.numpy.sin`, `builtins.zip`."""

    qualname: str


@dataclass(frozen=True)
class Package:
    """A module or package of the project.

    `module` is None for a folder without an `__init__.py`, and for a file that could not be parsed, which `folder`
    then is.
    """

    name: str
    folder: Path
    module: Module | None


Meaning = Definition | External | Package
