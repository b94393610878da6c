"""What all parts of the analysis read of a project: its files and names, and its classes."""

from dataclasses import dataclass

from scanify.analysis.index.project import Index
from scanify.analysis.values.classes import Classes


@dataclass(frozen=True, eq=False)
class ProjectFacts:
    """The index of a project and what it says of classes."""

    index: Index
    classes: Classes

    @classmethod
    def of(cls, index: Index) -> "ProjectFacts":
        """Return the facts of an index."""
        return cls(index, Classes(index))
