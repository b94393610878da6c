"""Meanings of a name in the project."""

import ast
from dataclasses import dataclass
from pathlib import Path

from scanify.analysis.index.module import Module


@dataclass(frozen=True)
class Definition:
    """A name bound by one statement at the top level of a module: a class, a function, an assignment, ..."""

    module: Module
    name: str
    node: ast.stmt


@dataclass(frozen=True)
class External:
    """An object outside the project, by its qualified name: `jax.numpy.sin`, `builtins.zip`."""

    qualname: str


@dataclass(frozen=True)
class Package:
    """A module or package of the project.

    `module` is None for a folder without an `__init__.py`, and for a file that could not be parsed; `folder` is then
    that file.
    """

    name: str
    folder: Path
    module: Module | None


Meaning = Definition | External | Package
