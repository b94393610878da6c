"""Facts about a project that all parts of the analysis share: its files and names, and its classes."""

import ast
from dataclasses import dataclass, field
from typing import Any

from scanify.analysis.classes.classes import Classes
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index


@dataclass(frozen=True, eq=False)
class ProjectFacts:
    """The index of a project and its classes, with caches of results.

    `exchanged` maps field names to whether `tree_at` or `replace` may put another value there, and `reads` to the
    places that read them, by the class of the object. `constructors` has the types of the names in constructors.
    """

    index: Index
    classes: Classes
    exchanged: dict[str, bool] = field(default_factory=dict)
    constructors: dict[object, Any] = field(default_factory=dict)
    reads: dict[str, dict[object, list[tuple[Module, ast.Attribute]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, index: Index) -> "ProjectFacts":
        """Return the facts of an index."""
        return cls(index, Classes(index))
