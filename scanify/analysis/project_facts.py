"""What all parts of the analysis read of a project: its files and names, and its classes."""

import ast
from dataclasses import dataclass, field
from typing import Any

from scanify.analysis.classes.classes import Classes
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index


@dataclass(frozen=True, eq=False)
class ProjectFacts:
    """The index of a project and what it says of classes.

    `exchanged` says of names of fields whether `tree_at` or `replace` may put something else there, `reads` where they
    are read, by the classes of the objects; `constructors` has the names of constructors, with types. Each is found
    once.
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
